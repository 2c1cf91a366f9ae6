-- Operators whose time differs most between ranks: the rank with most of it beside the mean.
WITH of_ranks AS (
    SELECT o.rank, o.name, o.type, o.unit, CAST(sum(o.duration_ns) AS BIGINT) AS total_ns
    FROM operators o GROUP BY o.rank, o.name, o.type, o.unit
), ordered AS (
    SELECT t.rank, t.name, t.type, t.unit, t.total_ns,
           row_number() OVER (PARTITION BY t.name, t.type, t.unit ORDER BY t.total_ns DESC, t.rank) AS place,
           avg(t.total_ns) OVER (PARTITION BY t.name, t.type, t.unit) AS mean_ns,
           count(*) OVER (PARTITION BY t.name, t.type, t.unit) AS ranks
    FROM of_ranks t
)
SELECT w.name, w.type, w.unit, w.ranks, w.rank AS most_rank, w.total_ns AS most_ns, w.mean_ns,
       w.total_ns - w.mean_ns AS excess_ns
FROM ordered w
WHERE w.place = 1
ORDER BY excess_ns DESC, w.name, w.type, w.unit
