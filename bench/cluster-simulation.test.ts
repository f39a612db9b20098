import { describe, expect, test } from 'vitest';
import { type Cluster, largeCluster, simulate, strategies } from './cluster-simulation.ts';

const small: Cluster = { ...largeCluster, replicas: 8, clients: 400, seconds: 120 };

describe('a cluster that is only played', () => {
  test('gives the same figures for the same seed', () => {
    expect(simulate(small, 'Parley', 3)).toEqual(simulate(small, 'Parley', 3));
    expect(simulate(small, 'Parley', 3)).not.toEqual(simulate(small, 'Parley', 4));
  });

  test.each(strategies)('by %s serves everybody, with shares and times that can be', (strategy) => {
    const { requests, prefixHits, balance, mostAtOnce, firstTokenMs } = simulate(small, strategy);
    expect(requests).toBeGreaterThan(500);
    expect(prefixHits).toBeGreaterThan(0);
    expect(prefixHits).toBeLessThan(1);
    expect(balance).toBeGreaterThanOrEqual(1);
    expect(mostAtOnce).toBeGreaterThan(0);
    expect(firstTokenMs.median).toBeGreaterThan(small.tokenMs);
    expect(firstTokenMs.p99).toBeGreaterThanOrEqual(firstTokenMs.median);
  });

  test('finds more of a conversation where it went before', () => {
    const [any, ours] = [simulate(small, 'any'), simulate(small, 'Parley')];
    expect(ours.prefixHits).toBeGreaterThan(any.prefixHits + 0.1);
    expect(ours.firstTokenMs.median).toBeLessThan(any.firstTokenMs.median);
  });

  test('with one backend all strategies are equal', () => {
    const alone = { ...small, replicas: 1, clients: 20 };
    const [first, ...others] = strategies.map((strategy) => simulate(alone, strategy).prefixHits);
    for (const other of others) expect(other).toBeCloseTo(first as number, 1);
    expect(simulate(alone, 'Parley').balance).toBe(1);
  });

  test('with a cache of 0 tokens there are no prefix hits', () => {
    expect(simulate({ ...small, cacheTokens: 0 }, 'Parley').prefixHits).toBe(0);
  });
});
