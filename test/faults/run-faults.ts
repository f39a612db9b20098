import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive } from '../live/alive.ts';
import type { Fault, FaultGroup, ServiceKind, Subject } from './fault.ts';
import { until } from './until.ts';

interface Tried {
  readonly group: string;
  readonly name: string;
  readonly kind: ServiceKind;
  outcome: 'survived' | 'not survived' | { readonly skipped: string };
  recoveryMs: number;
}

/** A generous limit: how long it took is printed. */
const recoveryLimitMs = 60_000;

/** Runs every row, one after the other, and prints the table at the end. */
export function runFaults(groups: readonly FaultGroup[], { short = false } = {}): void {
  const tried: Tried[] = [];
  for (const { name: group, open, rows } of groups) {
    const chosen = short ? rows.filter((row) => row.short) : rows;
    if (chosen.length === 0) continue;
    describe(group, () => {
      let setting: Subject & { close?(): Promise<void> };
      beforeAll(async () => {
        setting = await open();
      });
      afterAll(async () => {
        await setting?.close?.();
        await setting?.server.stop();
      });
      for (const fault of chosen) {
        const { name, kind } = fault;
        test(name, async (context) => {
          // Not survived until the end: a row that takes too long never gets there.
          const row: Tried = { group, name, kind, outcome: 'not survived', recoveryMs: 0 };
          tried.push(row);
          const skipped = fault.cannot?.();
          if (skipped !== undefined) {
            row.outcome = { skipped };
            context.skip(skipped);
          }
          row.recoveryMs = await survives(fault, setting);
          row.outcome = 'survived';
        });
      }
    });
  }
  afterAll(() => console.log(tableOf(tried)));
}

/** Returns the milliseconds from the end of the fault to full service. */
async function survives(fault: Fault, setting: Subject): Promise<number> {
  const { pid } = setting.server;
  const written = setting.server.output().length;
  const checked = (await fault.inject(setting)) ?? setting;
  const { server } = checked;
  const began = performance.now();
  await until(() => checked.serves(fault.kind), recoveryLimitMs);
  const recoveryMs = performance.now() - began;
  expect(isAlive(pid), 'the process of the server is the same').toBe(true);
  await until(async () => expect((await fetch(`${server.base}/health`)).status).toBe(200));
  await checked.intact();
  expect(
    faultLines(server.output().slice(checked === setting ? written : 0)),
    'no exception was left to the last resort',
  ).toEqual([]);
  if (checked !== setting) await server.stop();
  return recoveryMs;
}

/** What the server writes when something was caught nowhere. */
function faultLines(output: string): readonly string[] {
  return output
    .split('\n')
    .filter((line) => /please report this|Something unexpected|^\s+at .+:\d+:\d+\)?$/.test(line));
}

function tableOf(tried: readonly Tried[]): string {
  const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
  const resultCell = ({ outcome, recoveryMs }: Tried) => {
    if (typeof outcome === 'object') return `skipped (${outcome.skipped})`;
    return outcome === 'survived' ? `survived, served again after ${seconds(recoveryMs)}` : 'NOT SURVIVED';
  };
  const count = (outcome: Tried['outcome'] | 'skipped') =>
    tried.filter((one) => one.outcome === outcome || (outcome === 'skipped' && typeof one.outcome === 'object')).length;
  const kinds = [...new Set(tried.map(({ kind }) => kind))].map((kind) => {
    const slowest = Math.max(...tried.filter((one) => one.kind === kind).map(({ recoveryMs }) => recoveryMs));
    return `${kind} ${seconds(slowest)}`;
  });
  const width = Math.max(0, ...tried.map(({ group, name }) => group.length + name.length + 2));
  return [
    '',
    ...tried.map((one) => `${`${one.group}: ${one.name}`.padEnd(width)}  ${resultCell(one)}`),
    '',
    `Faults tried: ${tried.length - count('skipped')}, survived: ${count('survived')}, skipped: ${count('skipped')}`,
    `Longest recovery: ${kinds.join(', ')}`,
    '',
  ].join('\n');
}
