-- Operators by name, type and unit over all ranks, those first that take longest.
SELECT o.name, o.type, o.unit, count(*) AS calls, count(DISTINCT o.rank) AS ranks,
       CAST(sum(o.duration_ns) AS BIGINT) AS total_ns, avg(o.duration_ns) AS mean_ns,
       min(o.duration_ns) AS least_ns, max(o.duration_ns) AS most_ns
FROM operators o
GROUP BY o.name, o.type, o.unit
ORDER BY total_ns DESC, o.name, o.type, o.unit
