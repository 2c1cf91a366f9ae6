// Refusals of the server in Chinese, by its own words: it knows no language.

/** @type {Record<string, string>} */
export const refusals_zh = {
  "the token of this run is missing or wrong": "缺少本次运行的令牌，或令牌有误",
  "open the address that opscope serve printed when it began": "请打开 opscope serve 启动时打印的地址",
  "there is no profile of this number": "没有该编号的性能数据",
  "the profile is still being read": "性能数据仍在读取",
  "the answer took too long": "应答用时过长",
  "this answer failed": "应答失败",
  "other timelines are being written": "正在写出其他时间线",
  "there is no such slice": "没有这样的切片",
  "there is no operator of this row": "该行没有算子",
};
