// Shows the OpenAPI document: routes, fields, answers, and a command to try each.

const at = (id) => document.getElementById(id);

function make(name, text, parts = []) {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...parts);
  return element;
}

function resolve(api, schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.split("/").slice(1).reduce((place, key) => place[key], api);
}

function kind(api, schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.const) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map((entry) => kind(api, entry)).join(" or ");
  if (schema.type === "array") return `list of ${kind(api, schema.items || {})}`;
  return schema.type || "any";
}

function bounds(schema) {
  const names = { minimum: "from", maximum: "to", maxLength: "at most", minItems: "from", maxItems: "to" };
  return Object.entries(names).filter(([key]) => key in schema).map(([key, word]) => `${word} ${schema[key]}`).join(" ");
}

function table(api, schema) {
  const required = new Set(schema.required || []);
  const rows = Object.entries(schema.properties || {}).map(([name, field]) => make("tr", "", [
    make("th", "", [make("code", name)]),
    make("td", required.has(name) ? "required" : field.default === undefined ? "" : JSON.stringify(field.default)),
    make("td", [kind(api, field), bounds(field)].filter(Boolean).join(", ")),
    make("td", field.description || ""),
  ]));
  const head = make("tr", "", ["Field", "Default", "Type", "Meaning"].map((text) => make("th", text)));
  return make("table", "", [make("thead", "", [head]), make("tbody", "", rows)]);
}

function example(path, method, schema) {
  const address = new URL(`.${path}`, document.baseURI);
  if (!schema) return `curl${method === "get" ? "" : ` -X ${method.toUpperCase()}`} ${address}`;
  const text = "input" in schema.properties ? "input" : "text";
  const body = "items" in schema.properties ? { items: [{ input: "Hello." }] } : { [text]: "Hello." };
  return `curl ${address} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
}

function operation(api, path, method, details) {
  const body = ((details.requestBody || {}).content || {});
  const json = body["application/json"] && resolve(api, body["application/json"].schema);
  const form = body["multipart/form-data"] && resolve(api, body["multipart/form-data"].schema);
  const parts = [make("h2", `${method.toUpperCase()} ${path}`), make("p", details.description)];
  const fields = details.parameters || [];
  if (fields.length) {
    const properties = Object.fromEntries(fields.map((field) => [field.name, field.schema]));
    parts.push(table(api, { properties, required: fields.filter((field) => field.required).map((field) => field.name) }));
  }
  if (json || form) parts.push(table(api, json || form));
  if (!form) parts.push(make("pre", "", [make("code", example(path, method, json))]));
  const answers = Object.entries(details.responses).filter(([status]) => status !== "422");
  const list = answers.map(([status, answer]) => make("li", `${status}: ${answer.description}`));
  parts.push(make("ul", "", list));
  return make("section", "", parts);
}

async function start() {
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const api = await (await fetch("openapi.json")).json();
  at("title").textContent = `${api.info.title} ${api.info.version}`;
  at("description").textContent = api.info.description;
  at("base").textContent = new URL(".", document.baseURI).href;
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, details] of Object.entries(methods)) {
      at("operations").append(operation(api, path, method, details));
    }
  }
}

start();
