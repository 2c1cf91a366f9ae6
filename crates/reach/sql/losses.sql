-- What was lost, or is doubtful.
SELECT l.reason, count(DISTINCT l.rank) AS ranks, CAST(sum(l.count) AS BIGINT) AS records, min(l.source) AS source
FROM losses l
GROUP BY l.reason
ORDER BY l.reason
