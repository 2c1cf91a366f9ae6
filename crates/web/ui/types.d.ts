// Types that several files share. Only the checker reads this file.

type Child = Node | string | number | null | undefined | false | Child[];
type Properties = { [name: string]: unknown };

interface Signal<T> { value: T; peek(): T }

type ScreenName = "overview" | "timeline" | "operators" | "model" | "roofline" | "compare" | "advice" | "about";
type Theme = "auto" | "light" | "dark";
type Language = "en" | "zh";
type Colouring = "type" | "operator" | "unit" | "stream" | "share" | "waiting" | "change";
type Grouping = "operator" | "type" | "name" | "unit" | "stream" | "shape" | "iteration" | "call";
type Span = [number, number];

type Chosen =
  | { kind: "slice"; slice: number }
  | { kind: "operator"; operator: number }
  | { kind: "type"; type: string }
  | { kind: "finding"; rule: string }
  | { kind: "group"; group: number }
  | { kind: "node"; node: number };

interface Flag { at: number; name: string }

// The state that a link carries; `null` and empty lists are left out.
interface LinkState {
  screen: ScreenName;
  p: number;
  /** the profile that it is compared with */ b: number | null;
  /** how far that is shifted, in nanoseconds */ o: number | null;
  t: Span | null;
  m: Span | null;
  sel: string | null;
  q: string;
  g: Grouping;
  s: string | null;
  c: Colouring;
  gr: string;
  fold: string[];
  hide: string[];
  pin: string[];
  k: Flag[];
  /** those of the other profile */ kb: Flag[];
  /** whether counters have the scale of all their values */ y: boolean;
  v: string | null;
  lang: Language | null;
  theme: Theme | null;
}

// ---- the report's JSON: see page-side documentation of `opscope report` -------------------------

interface Latency {
  basis: "unrecorded" | "recorded"; count: number; median_ns: number; mean_ns: number; p90_ns: number; p99_ns: number;
  min_ns: number; max_ns: number; coefficient_of_variation: number; recording_ratio: number | null; scale: number;
}
interface Overview {
  latency: Latency | null; iterations: number; iterations_left_out: number; summed_runs: number | null; wall_ns: number | null; busy_ns: number | null; idle_ns: number | null;
  operator_time_ns: number; attributed_ns: number; with_flops_ns: number; tasks: number;
  control: { tasks: number; time_ns: number }; outside: { tasks: number; time_ns: number };
  devices: { number: number; name: string | null; busy_ns: number; tasks: number }[];
  units: { unit: string; time_ns: number; tasks: number }[];
  waiting_ns: number | null; peak_memory_bytes: number | null; peak_memory_operator: string | null; whole_ns: number;
  types: { type: string; time_ns: number; share: number; operators: number; executions: number; mean_ns: number }[];
}
interface About { /** null where the profile is kept in no file */ path: string | null; kind: string; facts: Record<string, unknown>; missing: string[]; remarks: string[]; command: string; notes?: string[] }
interface Loss { kind: string; severity: string; source: string | null; scope: string | null; reason: string | null; count: number; detail: string | null }
interface Evidence { name: string; op_type: string | null; time_ns: number | null; detail?: string | null }
interface Finding {
  id: string; name: string; title: string; note: string | null; saves_at_most_ns: number | null; share: number | null; share_of: string;
  kind: string; also: string[]; evidence: Evidence[]; evidence_left_out?: number; why: string; advice: string; auto: string | null; confidence: string;
  source: string | null; limits: Record<string, unknown>; zh?: { title: string; why: string; advice: string } | null;
}
interface Advice { target?: string; operator_time_ns?: number; saves_together_at_most_ns?: number | null; rules_asked?: number; findings: Finding[]; not_checked?: unknown[]; silenced?: unknown[]; [other: string]: unknown }
interface TimelineGroup { name: string; kind: "host" | "ranges" | "device" | "loose"; device: number | null }
type RowKind = "inferences" | "unrecorded" | "calls" | "ranges" | "loose-ranges" | "tasks" | "busy";
interface RowFacts {
  group: number; kind: RowKind; name: string; of: string; number: number | null; process: string | null; copy: number; depth: number;
  first: number; count: number; density_first: number; density_count: number;
}
interface CounterFacts { group: number; name: string; unit: string; first: number; count: number }
interface TimelineFacts {
  tick_ns: number; zero_ns: number; end: number; view: Span; outside: number; groups: TimelineGroup[]; rows: RowFacts[]; counters: CounterFacts[];
}
interface LeftOut {
  slices: number; slices_in_full: number; windows: Span[]; inferences_in_full: number[] | null; buckets: number; operators: number;
  operators_in_full: number; samples: number; samples_in_full: number; launches_backward: number; names_cut: number; undrawable?: number; operators_rest_ns?: number;
}
interface Member { name: string; op_type: string; time_ns: number }
interface ChangeGroup { change: string; story: string; before: Member[]; after: Member[]; before_ns: number; after_ns: number; delta_ns: number }
interface Rest { count: number; delta_ns: number }
// The answer of `opscope compare --json`; of long lists the beginning, and how much of them is left out.
interface Comparison {
  basis: string; whole_profiles: boolean; executions_ratio: number | null; before_ns: number; after_ns: number; speed_up: number | null; change: number | null;
  difference: { verdict: string; change: number; interval: Span; runs: Span } | null; inferences: { before_ns: number[]; after_ns: number[] };
  operators_before_ns: number; operators_after_ns: number; waterfall: { name: string; kind: string; story: string | null; delta_ns: number }[];
  matched: { before: number; after: number }; different_models: boolean; groups: ChangeGroup[]; groups_left_out: Rest; waterfall_left_out: Rest;
  spans: { name: string; kind: string; place: string; before_ns: number; after_ns: number }[];
  suspects: { name: string; delta_ns: number; seconds: number; unrecorded: boolean; rule: string }[];
}
interface Against { name: string; /** null where it is kept in no file */ path: string | null; overview: Omit<Overview, "types" | "whole_ns" | "waiting_ns">; /** what columns of its own are of, where the report has them */ timeline?: TimelineFacts; left_out?: LeftOut }
interface Calls { whole_ns: number; rows_left_out: number; rows: { time_ns: number; share: number; cumulative_share: number; count?: number; mean_ns?: number; phase?: string; level?: string; name?: string }[] }
interface WhatIf { measured_ns: number; basis: string; findings: number[]; predicted_ns: Record<string, number> }
interface GraphFacts { from: "model" | "tensors" | "order"; is_matched: boolean; nodes: number; constants: number; is_folded: boolean; in_columns: number; path_ns: number }
interface Report {
  /** pages about what hardware measured, title and text */ pages?: { name: string; metrics: string[]; en: [string, string]; zh: [string, string] }[];
  whatif?: WhatIf | null;
  compare?: Comparison | null; against?: Against | null; calls?: Calls; roofline?: { flops_per_second: number; bytes_per_second: number; bound_from: number } | null;
  schema_version: number; program_version: string; lang: "auto" | Language; fingerprint: string; name: string;
  overview: Overview; about: About; losses: Loss[]; advice: Advice; compute_units: string[]; timeline: TimelineFacts; left_out: LeftOut;
  /** absent in reports made without one */ graph?: GraphFacts;
}

// ---- columns -------------------------------------------------------------------------------------

type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;
interface Table { count: number; numbers(name: string): Numbers; texts(name: string): string[]; has(name: string): boolean }
interface Container { kind: string; size: number; table(name: string): Table }

// Buckets that hold what is shorter than two of them, and slices of two and more, each counted once.
interface RowColumns {
  origin: number;
  bucket: number;
  fine: { count: number; bucket: Numbers; busy: Uint8Array; category: Uint16Array; longest: Float64Array };
  wide: { count: number; start: Float64Array; duration: Float64Array; category: Uint16Array };
}

// Slices of one row, by time, none over another, with what makes buckets cheap.
interface RowIndex {
  count: number;
  start: Float64Array;
  duration: Numbers;
  item: Numbers;
  busy_before: Float64Array;
  longest: Uint32Array[];
  longest_time: Float64Array[];
}

interface Row {
  key: string;
  group: number;
  kind: RowKind | "counter";
  title: string;
  depth: number;
  first: number;
  count: number;
  readonly index: RowIndex;
  facts: RowFacts | null;
  counter: CounterFacts | null;
  samples: { time: Numbers; value: Numbers } | null;
  density: { bucket: Numbers; busy: Uint8Array; count: Numbers; item: Numbers; longest: Float64Array } | null;
}

// The server of what a page doesn't hold: data/served.js. Slices are numbers as everywhere, -1 where there is none.
interface Served {
  tiles: import("./data/tiles.js").Tiles;
  told: Signal<number>;
  paints(row: Row, view: Span): boolean;
  row_number(row: Row): number;
  longest(row: Row, from: number, to: number): Promise<number>;
  nearest(row: Row, time: number, near: number): Promise<number>;
  named(name: string): Promise<number>;
  beside(name: string, step: 1 | -1): Promise<number>;
  window(span: Span): WindowAnswer | null;
  counters(rows: Row[], view: Span, width: number): void;
  buckets(row: Row, view: Span, width: number): Buckets | null;
  search(text: string): Promise<ServedHit[]>;
  executions(row: number): Promise<Executions>;
}

// Ends and last values of a counter, pixel by pixel; NaN where there is none.
interface Buckets { low: Numbers; high: Numbers; last: Numbers }
// Calls, ranges and marks have the numbers of their first slices.
interface ServedHit { kind: string; name: string; count?: number; ids?: number[] }
interface Executions {
  count: number; histogram: { counts: number[]; edges_ns: number[]; least_ns: number; most_ns: number };
  per_inference: { number: number; time_ns: number; warm_up: boolean }[]; slowest: { id: number; start: number; duration_ns: number }[];
}

// A server's answer about a stretch of time.
interface WindowAnswer {
  groups: { group: number; busy: number; tasks: number }[];
  top: { item: number; operator: number | null; name: string; time: number; count: number }[];
  operators: number; gaps: Span[];
}

interface Items { count: number; kind: Numbers; name: Numbers; category: Numbers; unit: Numbers; operator: Numbers; task: Numbers }

interface Iteration { number: number; start: number; duration: number; recorded: boolean; warm_up: boolean; slice: number }

interface Operator {
  row: number; name: string; type: string; shapes: string; data_type: string; engine_type: string; unit: string; stream: string;
  time: number; count: number; mean: number; min: number; max: number; median: number; p90: number; p99: number;
  wait: number | null; flops: number | null; bytes: number | null; bound: number; ceiling: number; ideal: number | null; attribution: string; nodes: string; attributes: string;
}

// A quantity that hardware reports, its mean over executions.
interface Metric { name: string; unit: string; mean: number }

type Profile = import("./data/profile.js").Profile;
type AppOfOne = ReturnType<typeof import("./state/app.js").of_profile>;
// `other` is what the timeline shows of the profile before a change, of which `is_other` is true.
interface App extends AppOfOne { other: App | null; is_other: boolean; /** the visible part of its timeline */ picture: (() => TimelinePicture | null) | null }
type TimelinePicture = import("./timeline/picture.js").TimelinePicture;
type Texts = typeof import("./locale/en.js").en;
type RanksTexts = typeof import("./ranks/locale/en.js").en;
// Which page has which texts is checked by the lint.
type Key = keyof Texts | keyof RanksTexts;
type Palette = import("./parts/colours.js").Palette;
type Place = import("./timeline/layout.js").Place;
interface ScreenView { element: HTMLElement; dispose(): void; key?(event: KeyboardEvent): boolean; focus?(): void }
type Term = import("./data/filter.js").Term;
type TableRow = import("./data/table.js").TableRow;
type GridColumn = import("./table/grid.js").Column<TableRow>;
type Graph = import("./graph/graph.js").Graph;
type GraphPlaces = import("./graph/places.js").Places;
type GraphBox = import("./graph/places.js").Box;
type GraphLine = import("./graph/places.js").Line;
type GraphLook = ReturnType<typeof import("./graph/look.js").make_look>;
interface Eye { x: number; y: number; zoom: number }

// What saving and copying need of a page.
interface Saving { note: Signal<string>; profile: { report: { name: string }; file?: ((question: string) => Promise<Blob>) | null } }

// ---- the page of ranks ---------------------------------------------------------------------------

type Measure = "waiting" | "compute" | "transfer" | "bubble" | "idle" | "step";

// The state that a link carries.
interface RanksLink {
  /** what is selected */ sel: string | null;
  /** the measure of the heat map */ m: Measure;
  /** the ranks in sight, first and last */ r: Span | null;
  /** the use and type of links */ k: string;
  /** their transport */ x: string;
  /** the groups that steps are told by */ g: string;
  /** how those are sorted */ s: string;
  /** the ranks of the timeline */ lr: string;
  /** its steps */ ls: string;
  /** its stretch of time */ t: Span | null;
  /** the pictures that are shown as tables */ tab: string[];
  v: string | null;
  lang: Language | null;
  theme: Theme | null;
}

interface Suspect {
  kind: "rank" | "link" | "port" | "port_in" | "adapter" | "adapter_in" | "path" | "group" | "unrecorded" | "host" | "operator"; name: string; rank: number | null; src: number | null; dst: number | null; ranks: number[]; from: number[] | null; to: number[] | null; named: boolean; weak: boolean; within: boolean;
  saves_ns: number; low_ns: number | null; high_ns: number | null; alone_ns: number; excess_ns: number; since_step: number;
  evidence: { causes: { cause: string; explains_ns: number }[]; differences: { operator: { name: string; type: string; unit: string }; count: number; excess_ns: number; is_on_peers: boolean }[]; peers: number[] };
}
// The answer of `opscope cluster --json`.
interface Cluster {
  ranks: number; missing: number[]; hosts: string[]; layout: Record<string, number>; steps: number[]; collectives: number; matched_parts: number; incomplete: number;
  step_ns: number; reachable_ns: number; noise_ns: number; replay_error: number; suspects: Suspect[];
  account: { compute_ns: number; waiting_ns: number; transfer_ns: number; bubble_ns: number; host_ns: number; unaccounted_ns: number };
  clocks: { host: string; offset_ns: number; drift_ppm: number; error_ns: number; island: number }[];
  shifts: { rank: number; role: string; added: number }[];
  losses: { kind: string; severity: string; source: string; scope: string; reason: string; count: number; detail: string }[];
}
// Its sentences as the terminal has them.
interface ClusterSaid { heading: string; headline: string; account: string; clocks: string; suspects: { number: string; who: string; costs: string; alone: string; since: string; why: string }[] }
interface RanksReport {
  schema_version: number; program_version: string; lang: "auto" | Language; fingerprint: string; name: string; source: string; command: string;
  cluster: Cluster; said: Record<Language, ClusterSaid>; summary: Record<string, Record<string, any>[]>; steps: number[]; steps_left_out: number; places: string[];
  roles: string[]; types: string[]; transports: string[];
  timeline: { why: "suspects" | "first" | "asked"; ranks: number[]; steps: number[]; of_ranks: number; of_steps: number; types: string[] };
}
interface AccountRow {
  of: string; ranks: number; step_ns: number; compute_ns: number; waiting_ns: number; bubble_ns: number; transfer_ns: number; idle_ns: number; unaccounted_ns: number;
  imbalance: number | null; imbalance_ns: number | null;
}
type RanksApp = ReturnType<typeof import("./ranks/state.js").make_app>;
// A part of the page of ranks.
interface Part { element: HTMLElement; dispose(): void; key?(event: KeyboardEvent): boolean }
