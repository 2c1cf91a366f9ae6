// The screens that there are, with their keys. Keys stay what they are when screens come between.

import { overview_screen } from "./overview.js";
import { operators_screen } from "./operators.js";
import { model_screen } from "../graph/view.js";
import { roofline_screen } from "./roofline.js";
import { compare_screen } from "./compare.js";
import { advice_screen } from "./advice.js";
import { about_screen } from "./about.js";
import { timelines_screen } from "../timeline/stacked.js";

/** @type {Record<ScreenName, (app: App) => ScreenView>} */
export const SCREEN_VIEWS = {
  overview: overview_screen,
  timeline: timelines_screen,
  operators: operators_screen,
  model: model_screen,
  roofline: roofline_screen,
  compare: compare_screen,
  advice: advice_screen,
  about: about_screen,
};
