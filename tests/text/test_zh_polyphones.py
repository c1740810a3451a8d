"""Characters with several readings, in context: the star stands before the character."""

import re
from importlib.resources import files

import pytest

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.zh import ChineseG2P
from cosylite.text.g2p.zh_pinyin import syllable_symbols

CASES = """
他在*行长办公室:hang2 *行人请走这边:xing2 内*行人:hang2 这一*行字:hang2 排成两*行:hang2 他步*行上班:xing2
*行李:xing2 各*行各业:hang2 同*行的人:xing2 品*行端正:xing2 银行*行长:hang2 行*长来了:zhang3 孩子*长大了:zhang3
头发*长了很多:zhang3 *长江:chang2 校*长:zhang3 *长得很高:zhang3 很*长时间:chang2 生*长:zhang3 成*长:zhang3
他个子*长高了:zhang3 身*长:chang2 特*长:chang2 兄*长:zhang3 理*发店:fa4 *发财:fa1 白*发苍苍:fa4 洗*发水:fa4
出*发:fa1 一根头*发:fa4 染*发:fa4 *发烧:fa1 体*重:zhong4 *重复:chong2 *重新:chong2 *重要:zhong4 *重庆:chong2
很*重:zhong4 双*重:chong2 *重来一遍:chong2 *重写:chong2 严*重:zhong4 *重阳节:chong2 山*重水复:chong2 *重做:chong2
音*乐:yue4 快*乐:le4 *乐器:yue4 *乐队:yue4 他姓*乐:yue4 欢*乐:le4 奏*乐:yue4 你*得走了:dei3 跑*得快:de5 *得到:de2
你*得小心:dei3 说*得对:de5 取*得成功:de2 觉*得:de5 我*得回家:dei3 做*得很好:de5 不*得不:de2 舍不*得:de5
非*得去:dei3 *得了冠军:de2 气*得要命:de5 记*得:de5 总*得想办法:dei3 忙*得不可开交:de5 *得病:de2 *还书:huan2
*还有:hai2 归*还:huan2 *还是:hai2 *还钱:huan2 把书*还给我:huan2 *还没:hai2 *还债:huan2 他*还不知道:hai2 偿*还:huan2
首*都:du1 *都是:dou1 大*都市:du1 全*都:dou1 成*都:du1 *都江堰:du1 *种子:zhong3 *种地:zhong4 *种花:zhong4
一*种:zhong3 *种植:zhong4 各*种:zhong3 *种菜:zhong4 他家*种了很多树:zhong4 播*种:zhong3 人*种:zhong3 因*为:wei4
*为了:wei4 认*为:wei2 以*为:wei2 行*为:wei2 *为人民服务:wei4 作*为:wei2 *为你高兴:wei4 分*为:wei2 *为人师表:wei2
变*为:wei2 大有可*为:wei2 称*为:wei2 *为什么:wei4 *为难:wei2 开*会:hui4 *会议:hui4 *会计师:kuai4 一*会儿:hui4
财*会:kuai4 *调整:tiao2 *调动:diao4 音*调:diao4 *调节:tiao2 强*调:diao4 *调皮:tiao2 腔*调:diao4 *调味:tiao2
协*调:tiao2 *调研:diao4 *调料:tiao2 单*调:diao4 烹*调:tiao2 爱*好:hao4 *好人:hao3 *好学生:hao3 *好学:hao4
喜*好:hao4 *好客:hao4 *好像:hao3 *好吃懒做:hao4 *好胜:hao4 友*好:hao3 看*着:zhe5 *着火:zhao2 *着急:zhao2
*着陆:zhuo2 穿*着打扮:zhuo2 他穿*着衣服:zhe5 *着凉:zhao2 沿*着:zhe5 *着手:zhuo2 衣*着:zhuo2 找*着了:zhao2
睡不*着:zhao2 *着想:zhuo2 猜*着了:zhao2 执*着:zhuo2 没*着落:zhuo2 着*着火:zhe5 走*了:le5 *了不起:liao3
受不*了:liao3 为*了:le5 *了结:liao3 吃不*了:liao3 算*了:le5 去得*了:liao3 *了如指掌:liao3 不得*了:liao3
办不*了:liao3 大不*了:liao3 没完没*了:liao3 土*地:di4 高兴*地说:de5 *地球:di4 慢慢*地:de5 认真*地学习:de5 *地方:di4
悄悄*地走:de5 飞快*地跑:de5 草*地上:di4 工*地:di4 目的*地:di4 种*地:di4 当*地人:di4 心*地善良:di4 不停*地说:de5
天*地:di4 扫*地:di4 目*的:di4 我*的:de5 *的确:di2 *的士:di1 打*的:di1 众矢之*的:di4 好*的:de5 多*少:shao3
*少年:shao4 很*少:shao3 *少女:shao4 *少爷:shao4 减*少:shao3 男女老*少:shao4 身*分:fen4 *分开:fen1 水*分:fen4
成*分:fen4 十*分:fen1 过*分:fen4 充*分:fen4 缘*分:fen4 百*分之十:fen1 盐*分:fen4 养*分:fen4 *分子:fen1
知识*分子:fen4 积极*分子:fen4 本*分:fen4 *中国:zhong1 *中奖:zhong4 *中毒:zhong4 打*中:zhong4 *中间:zhong1
看*中:zhong4 *中暑:zhong4 猜*中:zhong4 *中风:zhong4 命*中:zhong4 百发百*中:zhong4 *中彩票:zhong4 集*中:zhong1
*间隔:jian4 房*间:jian1 *间接:jian4 时*间:jian1 *间谍:jian4 一*间房:jian1 *间断:jian4 离*间:jian4 黑白相*间:jian4
*教室:jiao4 *教书:jiao1 *教我:jiao1 宗*教:jiao4 *教孩子:jiao1 *教学:jiao4 他*教英语:jiao1 请*教:jiao4 *背包:bei1
*背后:bei4 *背书:bei4 *背着书包:bei1 后*背:bei4 *背负:bei1 *背诵:bei4 *背景:bei4 *背孩子:bei1 *便宜:pian2
方*便:bian4 *便利:bian4 大腹*便便:pian2 随*便:bian4 *处理:chu3 到*处:chu4 好*处:chu4 *处分:chu3 相*处:chu3
*处长:chu4 办事*处:chu4 *处于:chu3 *处方:chu3 设身*处地:chu3 四*处:chu4 *处女:chu3 自*传:zhuan4 *传说:chuan2
水浒*传:zhuan4 *传统:chuan2 *传记:zhuan4 外*传:zhuan4 宣*传:chuan2 *传球:chuan2 *单独:dan1 姓*单:shan4 *单于:chan2
*单位:dan1 *当然:dang1 *当作:dang4 上*当:dang4 *当铺:dang4 适*当:dang4 *当时:dang1 恰*当:dang4 *当老师:dang1
*当天:dang4 典*当:dang4 *当真:dang4 *倒水:dao4 摔*倒:dao3 *倒车:dao4 *倒闭:dao3 *倒计时:dao4 打*倒:dao3 *倒霉:dao3
*倒退:dao4 *倒影:dao4 *倒茶:dao4 跌*倒:dao3 反*倒:dao4 *倒垃圾:dao4 晕*倒:dao3 *倒数:dao4 *倒立:dao4 *干部:gan4
*干燥:gan1 *干什么:gan4 饼*干:gan1 树*干:gan4 *干杯:gan1 能*干:gan4 *干嘛:gan4 晒*干:gan1 *干得好:gan4 若*干:gan1
骨*干:gan4 *干旱:gan1 *更加:geng4 *更换:geng1 *更新:geng1 三*更半夜:geng1 变*更:geng1 *更好:geng4 自力*更生:geng1
*更衣室:geng1 *冠军:guan4 鸡*冠:guan1 皇*冠:guan1 衣*冠:guan1 夺*冠:guan4 *冠状病毒:guan1 *号码:hao4 *号叫:hao2
口*号:hao4 *号啕大哭:hao2 *和平:he2 暖*和:huo5 附*和:he4 *和面:huo2 *和稀泥:huo4 一唱一*和:he4 我*和你:he2
放*假:jia4 *假如:jia3 请*假:jia4 *假的:jia3 暑*假:jia4 真*假:jia3 休*假:jia4 主*角:jue2 *角度:jiao3 *角落:jiao3
配*角:jue2 三*角形:jiao3 *角逐:jue2 牛*角:jiao3 *结果:jie2 *结实:jie1 *结婚:jie2 开花*结果:jie1 团*结:jie2
*结巴:jie1 *解释:jie3 押*解:jie4 姓*解:xie4 *解放:jie3 *尽量:jin3 *尽力:jin4 *尽管:jin3 *尽头:jin4 *尽快:jin3
用*尽:jin4 *尽早:jin3 *尽情:jin4 试*卷:juan4 *卷起来:juan3 *卷心菜:juan3 春*卷:juan3 答*卷:juan4 手不释*卷:juan4
一*卷纸:juan3 *卷发:juan3 *看守:kan1 *看书:kan4 *看门:kan1 *看见:kan4 *看护:kan1 *看家:kan1 *看管:kan1 *空气:kong1
*空白:kong4 有*空:kong4 天*空:kong1 *空闲:kong4 填*空:kong4 *空间:kong1 没*空:kong4 抽*空:kong4 *空地:kong4
*空缺:kong4 太*空:kong1 *量体温:liang2 数*量:liang4 *量身高:liang2 测*量:liang2 质*量:liang4 商*量:liang5
力*量:liang4 打*量:liang5 *量杯:liang2 丈*量:liang2 *露水:lu4 *露面:lou4 暴*露:lu4 *露马脚:lou4 *露天:lu4 *露出:lu4
透*露:lu4 *露一手:lou4 *露营:lu4 揭*露:lu4 效*率:lv4 *率领:shuai4 草*率:shuai4 *率先:shuai4 *率队:shuai4 概*率:lv4
坦*率:shuai4 利*率:lv4 *落下:luo4 降*落:luo4 丢三*落四:la4 *落枕:lao4 *落后:luo4 *落在家里:la4 把书*落在教室:la4
*没有:mei2 淹*没:mo4 沉*没:mo4 *没收:mo4 *没人:mei2 出*没:mo4 埋*没:mo4 *蒙古:meng3 *蒙骗:meng1 启*蒙:meng2
内*蒙:meng3 *蒙着眼:meng2 *蒙混:meng2 *难过:nan2 灾*难:nan4 困*难:nan2 *难民:nan4 避*难:nan4 *难题:nan2 患*难:nan4
苦*难:nan4 磨*难:nan4 *宁静:ning2 *宁可:ning4 *宁愿:ning4 南*宁:ning2 *宁死不屈:ning4 安*宁:ning2 *宁缺毋滥:ning4
*漂亮:piao4 *漂流:piao1 *漂白:piao3 *漂浮:piao1 店*铺:pu4 *铺床:pu1 床*铺:pu4 *铺路:pu1 卧*铺:pu4 *铺张:pu1
坚*强:qiang2 *强迫:qiang3 倔*强:jiang4 勉*强:qiang3 *强大:qiang2 *强词夺理:qiang3 *切菜:qie1 一*切:qie4 亲*切:qie4
*切割:qie1 密*切:qie4 *切实:qie4 歌*曲:qu3 *曲线:qu1 弯*曲:qu1 作*曲:qu3 *曲折:qu1 戏*曲:qu3 姓*曲:qu1 *散步:san4
*散文:san3 分*散:san4 松*散:san3 解*散:san4 *散漫:san3 零*散:san3 *散会:san4 宿*舍:she4 *舍得:she3 *舍弃:she3
校*舍:she4 *舍不得:she3 邻*舍:she4 *数学:shu4 *数钱:shu3 *数不清:shu3 *数字:shu4 *数数:shu3 不可胜*数:shu3
少*数:shu4 *数到十:shu3 *数一下:shu3 倒*数第一:shu3 屈指可*数:shu3 *似乎:si4 *似的:shi4 相*似:si4 像雪*似的:shi4
*宿舍:su4 一*宿:xiu3 星*宿:xiu4 住*宿:su4 子*弹:dan4 *弹琴:tan2 *弹钢琴:tan2 炸*弹:dan4 *弹性:tan2 *弹吉他:tan2
导*弹:dan4 *弹簧:tan2 *挑选:tiao1 *挑战:tiao3 *挑水:tiao1 *挑衅:tiao3 *挑拨:tiao3 *挑食:tiao1 请*帖:tie3 字*帖:tie4
服*帖:tie1 *帖子:tie3 碑*帖:tie4 *吐痰:tu3 呕*吐:tu4 *吐血:tu4 *吐露:tu3 想*吐:tu4 *吐槽:tu3 互*相:xiang1
*相片:xiang4 *相信:xiang1 首*相:xiang4 真*相:xiang4 *相亲:xiang1 长*相:xiang4 照*相:xiang4 *相声:xiang4
丞*相:xiang4 流*血:xue4 鲜*血:xue4 *血型:xue4 一点*血:xie3 流了很多*血:xie3 *血压:xue4 *血淋淋:xie3 *应当:ying1
*应用:ying4 答*应:ying5 *应付:ying4 *应对:ying4 *应届:ying1 相*应:ying1 供*应:ying4 适*应:ying4 *应聘:ying4
*应酬:ying4 *应急:ying4 记*载:zai3 *载重:zai4 下*载:zai4 三年五*载:zai3 装*载:zai4 *载客:zai4 千*载难逢:zai3
刊*载:zai3 *扎针:zha1 挣*扎:zha2 *扎辫子:za1 *扎实:zha1 包*扎:za1 驻*扎:zha1 *涨价:zhang3 *涨红了脸:zhang4
上*涨:zhang3 头昏脑*涨:zhang4 *转身:zhuan3 *转圈:zhuan4 旋*转:zhuan3 *转动:zhuan4 公*转:zhuan4 *转告:zhuan3
*转弯:zhuan3 自*转:zhuan4 团团*转:zhuan4 车轮*转得快:zhuan4 *转学:zhuan3 *转速:zhuan4 *转悠:zhuan4 *钻石:zuan4
*钻研:zuan1 *钻孔:zuan1 *钻戒:zuan4 电*钻:zuan4 *钻进:zuan1 *参观:can1 *参差:cen1 人*参:shen1 海*参:shen1
*曾孙:zeng1 *曾经:ceng2 姓*曾:zeng1 *曾国藩:zeng1 未*曾:ceng2 *差别:cha1 *差不多:cha4 *差遣:chai1 误*差:cha1
*差点:cha4 邮*差:chai1 时*差:cha1 成绩很*差:cha4 公*差:chai1 偏*差:cha1 温*差:cha1 钦*差:chai1 *朝代:chao2
*朝阳:zhao1 *朝着:chao2 唐*朝:chao2 *朝三暮四:zhao1 *朝夕:zhao1 *朝鲜:chao2 今*朝:zhao1 *称呼:cheng1 对*称:chen4
*称赞:cheng1 *称职:chen4 *称心如意:chen4 名*称:cheng1 匀*称:chen4 *乘坐:cheng2 千*乘之国:sheng4 *乘法:cheng2
*冲动:chong1 *冲床:chong4 *冲着我:chong4 说话很*冲:chong4 *冲洗:chong1 *臭味:chou4 乳*臭未干:xiu4 无色无*臭:xiu4
*畜生:chu4 *畜牧:xu4 牲*畜:chu4 *创伤:chuang1 *创造:chuang4 *大夫:dai4 *大家:da4 *大王:da4 *待会儿:dai1 等*待:dai4
*担心:dan1 重*担:dan4 *担子:dan4 *担任:dan1 *斗争:dou4 一*斗米:dou3 北*斗:dou3 *度过:du4 揣*度:duo2 *恶心:e3
*恶劣:e4 可*恶:wu4 厌*恶:wu4 *恶化:e4 *番茄:fan1 *番禺:pan1 *缝衣服:feng2 门*缝:feng4 裂*缝:feng4 *供应:gong1
*供认:gong4 口*供:gong4 *供奉:gong4 提*供:gong1 *勾当:gou4 *勾引:gou1 *观看:guan1 道*观:guan4 *哈达:ha3 *哈哈:ha1
*喝水:he1 *喝彩:he4 *喝令:he4 大*喝一声:he4 *荷花:he2 负*荷:he4 *横竖:heng2 蛮*横:heng4 *横财:heng4 *哄骗:hong3
起*哄:hong4 *哄堂大笑:hong1 *华山:hua4 中*华:hua2 姓*华:hua4 *晃动:huang4 *晃眼:huang3 *几乎:ji1 *几个:ji3
茶*几:ji1 *济南:ji3 经*济:ji4 *系鞋带:ji4 关*系:xi4 *系领带:ji4 联*系:xi4 *系统:xi4 *夹克:jia1 *夹袄:jia2
*降低:jiang4 投*降:xiang2 *降服:xiang2 *嚼:jiao2 咀*嚼:jue2 *禁止:jin4 *禁不住:jin1 情不自*禁:jin1 *劲头:jin4
*劲敌:jing4 使*劲:jin4 强*劲:jing4 *据说:ju4 拮*据:ju1 *圈子:quan1 猪*圈:juan4 *咖啡:ka1 *咖喱:ga1 *累赘:lei2
劳*累:lei4 积*累:lei3 果实*累累:lei2 很*累:lei4 *俩:lia3 *靓:liang4 *笼子:long2 *笼罩:long3 *绿色:lv4 *绿林:lu4
*论语:lun2 讨*论:lun4 *脉搏:mai4 含情*脉脉:mo4 *埋怨:man2 *埋葬:mai2 *闷热:men1 郁*闷:men4 *闷闷不乐:men4 *模型:mo2
*模样:mu2 *模具:mu2 *磨刀:mo2 石*磨:mo4 *泥土:ni2 拘*泥:ni4 *弄堂:long4 玩*弄:nong4 *迫击炮:pai3 *迫切:po4
*胖:pang4 心宽体*胖:pan2 *喷水:pen1 *喷香:pen4 *片子:pian1 *片面:pian4 一*片:pian4 唱*片:pian4 动画*片:pian4
*仆人:pu2 前*仆后继:pu1 *曝光:bao4 一*曝十寒:pu4 *奇怪:qi2 *奇数:ji1 *茄子:qie2 雪*茄:jia1 *亲戚:qin1 *亲家:qing4
*塞车:sai1 边*塞:sai4 堵*塞:se4 *塞翁失马:sai4 *色彩:se4 *色子:shai3 *杉木:sha1 *杉树:shan1 *扇子:shan4 *扇风:shan1
*上声:shang3 *折叠:zhe2 打*折:zhe2 *折腾:zhe1 *折本:she2 *什么:shen2 *什锦:shi2 *识别:shi2 标*识:zhi4 *石头:shi2
一*石米:dan4 *属于:shu3 *属望:zhu3 *说话:shuo1 游*说:shui4 *说服:shuo1 *说客:shui4 *伺候:ci4 *伺机:si4 *踏实:ta1
*踏步:ta4 *拓展:tuo4 *拓片:ta4 *提防:di1 *提高:ti2 *通知:tong1 *瓦房:wa3 *尾巴:wei3 *委屈:wei3 *委蛇:wei1
*吓一跳:xia4 恐*吓:he4 *纤维:xian1 *纤夫:qian4 *鲜花:xian1 朝*鲜:xian3 *削皮:xiao1 剥*削:xue1 *削弱:xue1
*校对:jiao4 学*校:xiao4 *校正:jiao4 *兴奋:xing1 高*兴:xing4 *兴趣:xing4 *兴旺:xing1 *旋转:xuan2 *旋风:xuan4
*咽喉:yan1 哽*咽:ye4 吞*咽:yan4 狼吞虎*咽:yan4 *要求:yao1 *要是:yao4 重*要:yao4 *要挟:yao1 *饮料:yin3 *饮马:yin4
*殷红:yan1 *殷勤:yin1 *与会:yu4 *与其:yu3 参*与:yu4 *晕车:yun4 头*晕:yun1 *晕倒:yun1 *择菜:zhai2 选*择:ze2
*轧钢:zha2 *轧路机:ya4 *占领:zhan4 *占卜:zhan1 *爪子:zhua3 *爪牙:zhao3 *症状:zheng4 *症结:zheng1 *正月:zheng1
*正常:zheng4 *只有:zhi3 一*只猫:zhi1 两*只手:zhi1 船*只:zhi1 这*只狗:zhi1 *仔细:zi3 牛*仔:zai3 *琢磨:zuo2
雕*琢:zhuo2 *作坊:zuo1 *作业:zuo4 *朴素:pu3 姓*朴:piao2 *仇恨:chou2 姓*仇:qiu2 *任务:ren4 姓*任:ren2 *区别:qu1
姓*区:ou1 *盖子:gai4 姓*盖:ge3 *查看:cha2 姓*查:zha1 *尉迟:yu4 *万俟:mo4 *薄饼:bao2 *薄荷:bo4 稀*薄:bo2 很*薄:bao2
*剥皮:bao1 *剥夺:bo1 *扒手:pa2 *扒开:ba1 *蚌埠:beng4 *泊车:bo2 湖*泊:po1 *卜算:bu3 萝*卜:bo5 *藏族:zang4
隐*藏:cang2 西*藏:zang4 宝*藏:zang4 *禅让:shan4 *禅宗:chan2 *裳:shang5 *场院:chang2 *伯伯:bo2 大*伯子:bai3
*打扮:da3 一*打鸡蛋:da2 *逮捕:dai4 *逮住:dai3 *的话:de5 *钉子:ding1 *钉扣子:ding4 *囤积:tun2 粮*囤:dun4 *服务:fu2
一*服药:fu4 *脯:pu2 果*脯:fu3 *给予:ji3 *给你:gei3 供*给:ji3 *蛤蟆:ha2 *蛤蜊:ge2 一丘之*貉:he2 *吭声:keng1
*会稽:kuai4 *豁口:huo1 *豁达:huo4 *倔强:jue2 *倔脾气:jue4 *壳:ke2 地*壳:qiao4 *可汗:ke4 *可以:ke3 *溃:kui4
*烙饼:lao4 炮*烙:luo4 *勒索:le4 *勒紧:lei1 *擂台:lei4 *淋雨:lin2 *馏:liu2 *六安:lu4 *绿林好汉:lu4 *蔓延:man4
瓜*蔓:wan4 *氓:mang2 *眯:mi1 *秘鲁:bi4 *秘密:mi4 *娜:na4 婀*娜:nuo2 *粘贴:zhan1 *粘稠:nian2 *疟疾:nve4 *刨冰:bao4
*刨土:pao2 *炮制:pao2 *炮弹:pao4 *屏幕:ping2 *屏住呼吸:bing3 *瀑布:pu4 *栖息:qi1 *稽首:qi3 *翘:qiao4 *翘首:qiao2
*悄悄:qiao1 *悄然:qiao3 *撒谎:sa1 *撒种:sa3 *丧事:sang1 *丧失:sang4 *煞车:sha1 *煞费苦心:sha4 *省亲:xing3
*省份:sheng3 *盛饭:cheng2 *盛开:sheng4 *遂:sui4 半身不*遂:sui2 *趟水:tang1 一*趟:tang4 *体己:ti1 *圩:wei2 *虾:xia1
*巷道:hang4 小*巷:xiang4 *许:xu3 *叶公好龙:ye4 *迎:ying2 *佣人:yong1 *佣金:yong4 *有:you3 *予以:yu3 给*予:yu3
*员:yuan2 *咋:za3 *炸鸡:zha2 *炸弹:zha4 爆*炸:zha4 *占有:zhan4 *挣钱:zheng4 *挣扎:zheng1 *殖:zhi2 *中意:zhong4
*轴:zhou2 压*轴:zhou4 *著名:zhu4 *幢:zhuang4 *综:zong1 *卒:zu2 長*大了:da4 *長城:chang2 頭*髮:fa4 *發現:fa1
銀*行:hang2 睡*著了:zhao2 看*著:zhe5 音*樂:yue4 快*樂:le4 *還有:hai2 *還錢:huan2 *種樹:zhong4 *為什麼:wei4
成*為:wei2 *會計:kuai4 *調查:diao4 *重新:chong2 *乾淨:gan1 *幹活:gan4 校*長:zhang3 *覺得:jue2 睡*覺:jiao4
了*解:jie3 *參加:can1 人*參:shen1 應*該:gai1 *應該:ying1 反*應:ying4 *數一數:shu3 *傳記:zhuan4 *彈琴:tan2
子*彈:dan4 *轉身:zhuan3 *空調:kong1 空*調:tiao2 *強調:qiang2 效*率:lv4 *係:xi4
"""


@pytest.fixture(scope="module")
def g2p() -> ChineseG2P:
    return ChineseG2P()


def reading_at(g2p: ChineseG2P, text: str, index: int) -> str | None:
    for word in g2p.words(AlignedText.of(text)):
        if word.start <= index < word.end:
            return word.reading.split()[index - word.start]
    return None


@pytest.mark.parametrize("case", CASES.split())
def test_polyphone(g2p: ChineseG2P, case: str) -> None:
    marked, expected = case.rsplit(":", 1)
    assert reading_at(g2p, marked.replace("*", ""), marked.index("*")) == expected


def test_every_rule_names_one_character_and_a_syllable() -> None:
    text = files("cosylite.text").joinpath("data/zh_polyphones.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        pinyin, *contexts = line.split()
        assert syllable_symbols(pinyin), line
        for context in contexts:
            assert re.compile(context).groups == 1, context
            assert re.search(r"\((?!\?).\)", context), context


def test_readings_keep_dictionary_tones_while_symbols_follow_sandhi(g2p: ChineseG2P) -> None:
    words = g2p.words(AlignedText.of("你好，不是一个"))
    assert [word.reading for word in words] == ["ni3 hao3", "bu4 shi4", "yi1 ge4"]
    assert words[0].symbols == "ni↗xau↓"
    assert words[1].symbols == "pu↗ʂɨ↘"
    assert words[2].symbols.startswith("i↗")


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("展览馆", "ꭧa↗nla↗nkwa↓n"),
        ("小老虎", "ɕjau↓lau↗xu↓"),
        ("姐姐", "ʨje↓ʨje"),
        ("看一看", "kʰa↘nikʰa↘n"),
        ("好不好", "xau↓puxau↓"),
        ("一百", "i↘pai↓"),
        ("第一", "ti↘i→"),
        ("一月", "i→ɥe↘"),
    ],
)
def test_sandhi(g2p: ChineseG2P, text: str, symbols: str) -> None:
    assert "".join(word.symbols for word in g2p.words(AlignedText.of(text))) == symbols
