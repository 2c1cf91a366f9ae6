-- What peers do at the same place of a step: their own work before a collective, and how far it is spread.
SELECT k.peers, i.step, i.role, i.type, a.occurrence, count(*) AS ranks,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY a.segment_ns) AS segment_ns,
       min(a.segment_ns) AS least_ns, max(a.segment_ns) AS most_ns
FROM arrivals a JOIN instances i ON i.instance = a.instance JOIN clocks k ON k.rank = a.rank
GROUP BY k.peers, i.step, i.role, i.type, a.occurrence
ORDER BY k.peers, i.step, i.role, i.type, a.occurrence
