-- Collectives by use and type: waiting, transfer, and transfers beside what is typical. Where a rank came last that
-- wasn't recorded, waits for it are inferred; inferred counts such collectives.
SELECT i.role, i.type, count(DISTINCT i.group_key) AS groups, count(*) AS calls,
       CAST(sum(i.wait_ns) AS BIGINT) AS wait_ns, CAST(sum(i.transfer_ns) AS BIGINT) AS transfer_ns,
       CAST(sum(CASE WHEN i.transfer_ns > i.typical_ns THEN i.transfer_ns - i.typical_ns ELSE 0 END) AS BIGINT) AS slow_ns,
       CAST(nullif(sum(i.bytes), 0) AS BIGINT) AS bytes,
       CAST(sum(i.inferred) AS BIGINT) AS inferred
FROM instances i
GROUP BY i.role, i.type
ORDER BY i.role, i.type
