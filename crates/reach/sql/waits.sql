-- Whom others wait for: how often a rank came last, and what all others waited for it. Ranks that weren't recorded
-- have no number, and waits for them are inferred.
SELECT i.last_rank AS rank, i.role, i.type, count(*) AS times_last, CAST(sum(i.wait_ns) AS BIGINT) AS wait_ns
FROM instances i
WHERE i.seen > 1 OR i.inferred = 1
GROUP BY i.last_rank, i.role, i.type
ORDER BY wait_ns DESC, rank, i.role, i.type
