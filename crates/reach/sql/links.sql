-- The bandwidth from rank to rank in GB/s, as the sender tells it, the slowest first. Steps that are left out for a
-- rank don't count: where table accounts has a rank's own steps (own_step), those that it lacks; where it has none of
-- a rank, all of that rank's steps count. A send and its receive are a receive.
WITH counted AS (SELECT rank, own_step FROM accounts WHERE own_step IS NOT NULL),
accounted AS (SELECT DISTINCT rank FROM counted),
of_steps AS (
  SELECT l.rank, l.group_key, l.src, l.dst, l.type, l.transport, l.bytes, l.time_ns
  FROM counted c JOIN links l ON l.rank = c.rank AND l.step = c.own_step
  UNION ALL
  SELECT l.rank, l.group_key, l.src, l.dst, l.type, l.transport, l.bytes, l.time_ns
  FROM links l WHERE NOT EXISTS (SELECT 1 FROM accounted a WHERE a.rank = l.rank)
),
told AS (
  SELECT s.rank AS src, d.rank AS dst, g.role, CASE WHEN l.type = 'send' THEN 'receive' ELSE l.type END AS type,
         l.transport, l.bytes, l.time_ns
  FROM members s
  JOIN of_steps l ON s.group_key = l.group_key AND s.place = l.src AND s.rank = l.rank
  JOIN members d ON d.group_key = l.group_key AND d.place = l.dst
  JOIN groups g ON g.group_key = l.group_key
  WHERE l.type <> 'receive' AND s.rank <> d.rank AND l.bytes > 0 AND l.time_ns > 0
)
SELECT t.src, t.dst, t.role, t.type, t.transport, sum(t.bytes) AS bytes, sum(t.time_ns) AS time_ns,
       sum(t.bytes) / sum(t.time_ns) AS gb_per_s
FROM told t
GROUP BY t.src, t.dst, t.role, t.type, t.transport
ORDER BY gb_per_s, t.src, t.dst, t.role, t.type
