-- Each collective by the parts that were recorded of it (seen): when the first and the last rank came, and what the
-- others waited. Table instances has sends and receives as well, and infers waits for ranks that weren't recorded.
-- Steps that are left out for a rank don't count.
WITH counted AS (SELECT rank, step, own_step FROM accounts WHERE own_step IS NOT NULL),
accounted AS (SELECT DISTINCT rank FROM counted)
SELECT c.group_key, c.sequence, coalesce(min(s.step), min(c.step)) AS step, min(c.type) AS type, count(*) AS seen,
       min(c.start_ns - k.shift_ns) AS first_ns, max(c.start_ns - k.shift_ns) AS begin_ns,
       max(c.start_ns + c.duration_ns - k.shift_ns) AS end_ns, min(c.duration_ns) AS least_ns,
       CAST(sum(c.duration_ns) - count(*) * min(c.duration_ns) AS BIGINT) AS wait_ns
FROM collectives c
JOIN clocks k ON k.rank = c.rank
LEFT JOIN counted s ON s.rank = c.rank AND s.own_step = c.step
LEFT JOIN accounted a ON a.rank = c.rank
WHERE c.type NOT IN ('send', 'receive') AND (s.step IS NOT NULL OR a.rank IS NULL)
GROUP BY c.group_key, c.sequence
ORDER BY c.group_key, c.sequence
