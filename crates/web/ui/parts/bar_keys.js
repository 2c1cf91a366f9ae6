// The keys of the screens.

/** @type {Record<ScreenName, string>} */
export const SCREEN_KEYS = { overview: "1", timeline: "2", operators: "3", model: "4", roofline: "5", compare: "6", advice: "7", about: "8" };
