// The operators that a selection stands for, whichever screen it was made on.

/**
 * All of them, at most 20: of a group of a comparison those of the page's own profile, of a finding its evidence.
 * @param {Profile} profile @param {Chosen | null} selection @returns {number[]}
 */
export function operators_of(profile, selection) {
  switch (selection?.kind) {
    case "operator": return [selection.operator];
    case "slice": {
      const operator = profile.items.operator[profile.item[selection.slice]] - 1;
      return operator >= 0 ? [operator] : [];
    }
    case "group": return by_names(profile, profile.report.compare?.groups[selection.group]?.after ?? []);
    case "finding": return by_names(profile, profile.report.advice.findings.find((it) => it.id === selection.rule)?.evidence ?? []);
    default: return [];
  }
}

/** The first of them, -1 of none. @param {Profile} profile @param {Chosen | null} selection */
export function operator_of(profile, selection) {
  return operators_of(profile, selection)[0] ?? -1;
}

// Pictures ask at each frame: the same list has the same answer.
/** @type {WeakMap<object, number[]>} */
const known = new WeakMap();

/** @param {Profile} profile @param {{ name: string }[]} members */
function by_names(profile, members) {
  const found = known.get(members) ?? members.slice(0, 20).map((it) => profile.operators.findIndex((operator) => operator.name === it.name)).filter((it) => it >= 0);
  known.set(members, found);
  return found;
}

/**
 * The group of a comparison that a selection belongs to, -1 of none.
 * @param {Profile} profile @param {Chosen | null} selection
 */
export function group_of(profile, selection) {
  if (selection?.kind === "group") return selection.group;
  const groups = profile.report.compare?.groups;
  const operator = profile.operators[operator_of(profile, selection)];
  return groups && operator && selection?.kind !== "finding" ? groups.findIndex((it) => it.after.some((member) => member.name === operator.name)) : -1;
}

/**
 * The part by which an operator's group became slower, negative where it became faster; 0 where that isn't known.
 * @param {Profile} profile @param {number} operator
 */
export function change_of(profile, operator) {
  const group = profile.report.compare?.groups[group_of(profile, { kind: "operator", operator })];
  const [before, after] = [group?.before, group?.after].map((list) => (list ?? []).reduce((sum, it) => sum + it.time_ns, 0));
  return before && after ? after / before - 1 : 0;
}
