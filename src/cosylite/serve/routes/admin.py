"""Switching model names between configured bundles. There only with `--admin-key`."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from cosylite.serve.routes.common import Operator, TheService, errors
from cosylite.serve.schemas import AliasBody
from cosylite.serve.service import Service

router = APIRouter(prefix="/admin", tags=["admin"])
AliasName = Annotated[str, Path(max_length=128)]


@router.get("/aliases", responses=errors(401, 429))
async def aliases(service: TheService, operator: Operator) -> dict[str, Any]:
    """Where every name points, and what is loaded."""
    return _state(service)


@router.put("/aliases/{alias}", responses=errors(400, 401, 404, 429, 503))
async def switch(alias: AliasName, body: AliasBody, service: TheService, operator: Operator) -> dict[str, Any]:
    """Point a name to another bundle. Requests that run keep theirs; none is dropped."""
    await service.registry.switch(alias, body.target)
    return _state(service)


@router.post("/aliases/{alias}/rollback", responses=errors(400, 401, 404, 409, 429, 503))
async def roll_back(alias: AliasName, service: TheService, operator: Operator) -> dict[str, Any]:
    """Point a name to where it pointed before."""
    await service.registry.roll_back(alias)
    return _state(service)


def _state(service: Service) -> dict[str, Any]:
    return {
        "aliases": {name: deployment.name for name, deployment in service.registry.aliases.items()},
        "bundles": [
            {
                "name": deployment.name,
                "loaded": deployment.engine is not None,
                "leases": deployment.leases,
                "revision": deployment.engine.revision if deployment.engine else None,
            }
            for deployment in service.registry.deployments
        ],
    }
