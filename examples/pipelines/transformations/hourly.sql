-- The second table: orders by the hour. An hour waits for the slowest shop. A shop that is silent for a day is left out.
CREATE STREAMING TABLE hourly AS
SELECT window.start AS hour, count(*) AS orders, sum(amount) AS amount
FROM (
  SELECT tidemark_event_time(at, '{"key": "orders", "idleAfter": "1 day"}', shop) AS at, amount
  FROM STREAM orders
) WATERMARK at DELAY OF INTERVAL 10 MINUTES
GROUP BY window(at, '1 hour')
