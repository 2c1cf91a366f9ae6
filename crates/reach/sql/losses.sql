-- What was lost, or is doubtful, in reading the ranks and, once all are there, in comparing them; reason is what JSON calls
-- kind.
SELECT l.reason, count(DISTINCT l.rank) AS ranks, CAST(sum(l.count) AS BIGINT) AS records, min(l.source) AS source
FROM (SELECT DISTINCT rank, reason, source, count, detail FROM losses) l
GROUP BY l.reason
ORDER BY l.reason
