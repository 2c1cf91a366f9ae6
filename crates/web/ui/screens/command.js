// Views as commands that answer the same.

import { parse_filter } from "../data/filter.js";

/** The profile in commands: a word to be replaced where it is kept in no file. @param {App} app */
export function profile_word(app) {
  return app.profile.report.about.path ?? "PROFILE";
}

/**
 * @param {App} app
 */
export function analyze_command(app) {
  const words = ["opscope", "analyze", profile_word(app)];
  const grouping = app.grouping.peek();
  if (grouping === "call") words.push("--host");
  else if (grouping !== "operator") words.push("--group-by", grouping);
  for (const part of app.query.peek().match(/-?(?:[a-z]+:)?(?:"[^"]*"?|\S+)/gi) ?? []) {
    if (parse_filter(part).wrong.length > 0 || part.startsWith("-")) continue;
    const time = /^([<>])=?(.+)$/.exec(part);
    const named = /^([a-z]+):"?([^"]*)"?$/i.exec(part);
    if (time) words.push(time[1] === ">" ? "--min-time" : "--max-time", time[2]);
    else if (named && ["name", "type", "unit", "dtype"].includes(named[1])) words.push(`--${named[1]}`, named[2]);
    else if (!named) words.push("--name", part.replaceAll('"', "").replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  }
  const sort = app.sort.peek();
  if (sort && ["count", "name", "type"].includes(sort.replace("-", ""))) words.push("--sort", sort.startsWith("-") ? sort.slice(1) : `+${sort}`);
  return words.map(quoted).join(" ");
}

/** The command that shows on a terminal what a screen shows. @param {App} app */
export function command_of_screen(app) {
  const screen = app.screen.peek();
  const [own, before] = [quoted(profile_word(app)), quoted(app.profile.report.against?.path ?? "BEFORE")];
  switch (screen) {
    case "operators": return analyze_command(app);
    case "roofline": return `opscope analyze ${own} --roofline`;
    case "compare": return `opscope compare ${before} ${own}`;
    case "advice": return `opscope advise ${own}`;
    case "about": return `opscope info ${own}`;
    // No text says what a picture does: the same picture.
    case "timeline":
    case "model": return app.profile.file ? `opscope serve ${own}${app.other ? ` ${before}` : ""}` : app.profile.report.about.command;
    default: return `opscope show ${own}`;
  }
}

/** A word as a shell takes it. @param {string} text */
export function quoted(text) {
  return /^[\w./:=,+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
