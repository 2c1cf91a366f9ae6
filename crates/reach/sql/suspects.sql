-- Who costs a step how much, as opscope cluster slow has it.
SELECT s.name, s.saves_ns, s.alone_ns, s.since_step, s.cause, s.named, c.step_ns, c.reachable_ns
FROM suspects s CROSS JOIN costs c
ORDER BY s.place
