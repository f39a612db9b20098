import { expect, test } from 'vitest';
import type { ChildExit, ChildListeners, Spawn } from '../engines/host/child.ts';
import { type ProbeResult, runProbe } from './probe.ts';

/** A probe process that does as the test says. */
function world() {
  const sent: unknown[] = [];
  let listeners: ChildListeners<ProbeResult> | undefined;
  let passed: (() => void) | undefined;
  let killed = 0;
  const spawn = ((_entry: string, given: ChildListeners<ProbeResult>) => {
    listeners = given;
    return {
      pid: 1,
      send: (message: unknown) => void sent.push(message),
      kill: () => {
        killed += 1;
      },
      stop: async () => undefined,
    };
  }) as unknown as Spawn;
  const result = runProbe('onnx', {
    spawn,
    startTimer: (_, action) => {
      passed = action;
      return { cancel: () => undefined };
    },
  });
  return {
    sent,
    result,
    killed: () => killed,
    answer: (message: ProbeResult) => listeners?.message(message, []),
    exit: (exit: Partial<ChildExit>) => listeners?.exit({ code: null, signal: null, lastLines: [], ...exit }),
    timeOut: () => passed?.(),
  };
}

test('runProbe: sends the probe, resolves to the answer and ends the process', async () => {
  const { sent, result, answer, killed } = world();
  answer({ type: 'loaded', version: '1.2' });
  expect(await result).toEqual({ type: 'loaded', version: '1.2' });
  expect([sent, killed()]).toEqual([['onnx'], 1]);
});

test('runProbe: a crash is a failure with the last error of the process', async () => {
  const { result, exit } = world();
  exit({ signal: 'SIGSEGV', lastLines: ['Error: no such symbol', '    at open'] });
  expect(await result).toEqual({
    type: 'failed',
    reason: 'the engine process died of SIGSEGV: Error: no such symbol',
  });
});

test('runProbe: a process that does not answer is ended', async () => {
  const { result, timeOut, killed } = world();
  timeOut();
  expect(await result).toEqual({ type: 'failed', reason: 'it did not load within 30 seconds' });
  expect(killed()).toBe(1);
});

test('runProbe: a process that cannot be started is a failure', async () => {
  const spawn = (() => {
    throw new Error('EAGAIN');
  }) as unknown as Spawn;
  expect(await runProbe('onnx', { spawn, startTimer: () => ({ cancel: () => undefined }) })).toEqual({
    type: 'failed',
    reason: 'EAGAIN',
  });
});
