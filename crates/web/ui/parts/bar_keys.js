// The keys of the screens. Numbers between are kept for screens that other reports have.

/** @type {Record<ScreenName, string>} */
export const SCREEN_KEYS = { overview: "1", timeline: "2", operators: "3", roofline: "5", compare: "6", advice: "7", about: "8" };
