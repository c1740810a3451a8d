// Everything the page says, in English and Chinese, and its example texts.

export const WORDS = {
  en: {
    skip: "Skip to the text", theme: "Dark mode", text: "Text", examples: "Examples", voice: "Voice",
    preview: "Preview", speed: "Speed", format: "Download as", play: "Speak", stop: "Stop", download: "Download",
    result: "Result", first: "First audio after", factor: "Real-time factor", length: "Length",
    key: "This server asks for a key", use: "Use", docs: "API documentation", keys: "Ctrl + Enter speaks, Esc stops",
    automatic: "Automatic", placeholder: "Type or paste what you want to hear.",
    working: "Speaking…", done: "Done.", stopped: "Stopped.", saving: "Preparing the file…", saved: "The file is ready.",
    empty: "Write something first.", offline: "The server cannot be reached.", female: "female", male: "male",
    wave: "Waveform of the speech", cached: "from the cache", characters: (n, limit) => `${n} of ${limit} characters`,
  },
  zh: {
    skip: "跳到文本", theme: "深色模式", text: "文本", examples: "示例", voice: "声音",
    preview: "试听", speed: "语速", format: "下载格式", play: "朗读", stop: "停止", download: "下载",
    result: "结果", first: "首个音频", factor: "实时率", length: "时长",
    key: "此服务器需要密钥", use: "使用", docs: "接口文档", keys: "Ctrl + Enter 朗读，Esc 停止",
    automatic: "自动", placeholder: "输入或粘贴想听的内容。",
    working: "正在朗读…", done: "完成。", stopped: "已停止。", saving: "正在准备文件…", saved: "文件已就绪。",
    empty: "请先输入文本。", offline: "无法连接服务器。", female: "女声", male: "男声",
    wave: "语音波形", cached: "来自缓存", characters: (n, limit) => `${n} / ${limit} 字符`,
  },
};

export const LANGUAGES = {
  en: { zh: "Chinese", en: "English", ja: "Japanese", ko: "Korean" },
  zh: { zh: "中文", en: "英语", ja: "日语", ko: "韩语" },
};

export const EXAMPLES = [
  ["English", "en", "The ferry leaves at 8:45, so there is just enough time for breakfast by the water."],
  ["中文", "zh", "早上好！今天的气温是23度，下午可能有小雨，出门记得带伞。"],
  ["日本語", "ja", "駅前の小さなパン屋は、毎朝七時に店を開けます。"],
  ["한국어", "ko", "내일 오후 세 시에 도서관 앞에서 만나요."],
  ["Mixed · 混合", "zh", "我昨天在 Tokyo 的地铁上听见有人说「おはようございます」，然后大家一起去吃了 비빔밥，真的 delicious！"],
];

export const PREVIEWS = {
  en: "Hello, this is how I sound.", zh: "你好，这就是我的声音。", ja: "こんにちは、私の声です。",
  ko: "안녕하세요, 제 목소리입니다.",
};
