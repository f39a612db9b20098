import { largeCluster, simulate, strategies } from './cluster-simulation.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';

/** How well work finds its replica in a cluster that is larger than any at hand: reckoned, with the functions of the server. */
export async function clusterBench({ quick, log }: BenchOptions): Promise<Row[]> {
  const cluster = quick ? { ...largeCluster, replicas: 20, clients: 2000 } : largeCluster;
  const rows: Row[] = [];
  for (const strategy of strategies) {
    const { requests, prefixHits, mostAtOnce, balance, firstTokenMs } = simulate(cluster, strategy);
    log(`${strategy}: ${requests} requests of ${cluster.clients} clients on ${cluster.replicas} replicas`);
    const row = (what: string, value: number, unit: string): Row => ({
      bench: 'cluster',
      what: `${what}, ${strategy === 'Parley' ? 'as Parley chooses' : strategy}`,
      value,
      unit,
    });
    rows.push(
      row('prompt tokens found in memory', prefixHits * 100, '%'),
      row('busiest replica beside the mean', balance, '×'),
      row('most replies at once on one replica', mostAtOnce, ''),
      row('first token, median', firstTokenMs.median, 'ms'),
      row('first token, 99 of 100', firstTokenMs.p99, 'ms'),
    );
  }
  return rows;
}
