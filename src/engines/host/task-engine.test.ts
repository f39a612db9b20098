import { describe, expect, test } from 'vitest';
import { AppError, plainError } from '../../core/errors.ts';
import { TaskEngine } from './task-engine.ts';
import { attached, detached, type FromTaskWorker, type ToTaskWorker } from './task-messages.ts';
import { fakeWorkers } from './testing/workers.ts';

interface Task {
  readonly say: string;
  readonly sounds?: readonly Uint8Array[];
}
interface Event {
  readonly part: number;
  readonly sound?: Uint8Array | null;
}
type To = ToTaskWorker<{ readonly model: string }, Task>;
type From = FromTaskWorker<{ readonly voices: number }, Event>;

function world() {
  const fakes = fakeWorkers<To, From>();
  const seen: string[] = [];
  const engine = new TaskEngine<{ model: string }, { voices: number }, Task, Event>({
    capability: 'speech',
    entry: 'worker.js',
    options: { model: 'm' },
    spawn: fakes.spawn,
    startTimer: fakes.startTimer,
    observer: {
      progress: (fraction) => seen.push(`progress ${fraction}`),
      loaded: ({ voices }) => seen.push(`${voices} voices`),
      note: (text) => seen.push(text),
      failed: (reason) => seen.push(`failed: ${reason}`),
    },
  });
  const load = () => fakes.worker().say({ type: 'loaded', facts: { voices: 3 } });
  const stop = new AbortController();
  return {
    engine,
    fakes,
    seen,
    load,
    stop,
    run: (say: string, sounds?: readonly Uint8Array[]) => engine.run({ say, ...(sounds && { sounds }) }, stop.signal),
    id: () =>
      fakes
        .worker()
        .sent.flatMap((message) => (message.type === 'begin' ? [message.id] : []))
        .at(-1) ?? 0,
    sent: () => fakes.worker().sent.map(({ type }) => type),
  };
}

async function all(told: AsyncIterable<Event>): Promise<string> {
  const parts: string[] = [];
  try {
    for await (const { part, sound } of told) parts.push(`${part}/${sound?.byteLength ?? 0}`);
    return [...parts, 'end'].join(' ');
  } catch (error) {
    return [...parts, error instanceof AppError ? error.code : String(error)].join(' ');
  }
}

describe('TaskEngine: load', () => {
  test('sends the options, reports progress, and has the facts afterwards', async () => {
    const { engine, fakes, seen, load } = world();
    engine.start();
    expect(fakes.worker().sent).toEqual([{ type: 'load', options: { model: 'm' } }]);
    fakes.worker().say({ type: 'progress', fraction: 0.5 });
    expect(engine.state()).toEqual({ type: 'starting', progress: 0.5 });
    expect(engine.facts()).toBeUndefined();
    fakes.worker().say({ type: 'note', text: 'a remark' });
    load();
    expect(engine.state()).toEqual({ type: 'ready' });
    expect(engine.facts()).toEqual({ voices: 3 });
    expect(seen).toEqual(['progress 0.5', 'a remark', '3 voices']);
  });

  test('a failure has the reason of the worker, also for waiting tasks', async () => {
    const { engine, fakes, run, seen } = world();
    const waiting = all(run('hello'));
    fakes.worker().say({ type: 'load-failed', reason: 'no such voice' });
    fakes.worker().exit({ code: 1, signal: null });
    expect(await waiting).toBe('engine-failed');
    expect(engine.state()).toEqual({ type: 'failed', reason: 'no such voice' });
    expect(seen).toEqual(['failed: no such voice']);
  });
});

describe('TaskEngine: task', () => {
  test('starts the engine, waits for it, and yields its events', async () => {
    const { fakes, run, load, id, sent } = world();
    const told = all(run('hello', [new Uint8Array(4)]));
    expect(sent()).toEqual(['load']);
    load();
    const task = { say: 'hello', sounds: [null] };
    expect(fakes.worker().sent.at(-1)).toEqual({ type: 'begin', id: id(), task, bytesAt: [['sounds', '0']] });
    expect(fakes.worker().attached.at(-1)?.[0]?.byteLength).toBe(4);
    const bytesAt = [['sound']];
    fakes.worker().say({ type: 'event', id: id(), event: { part: 1, sound: null }, bytesAt }, [new Uint8Array(2)]);
    fakes.worker().say({ type: 'event', id: id(), event: { part: 2 } });
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await told).toBe('1/2 2/0 end');
  });

  test('reports the bytes that its reader has taken to the worker, at the next read', async () => {
    const { fakes, run, load, id } = world();
    const reader = run('hello')[Symbol.asyncIterator]();
    const first = reader.next();
    load();
    const taken = () => fakes.worker().sent.filter(({ type }) => type === 'taken');
    const bytesAt = [['sound']];
    fakes.worker().say({ type: 'event', id: id(), event: { part: 1, sound: null }, bytesAt }, [new Uint8Array(7)]);
    fakes.worker().say({ type: 'event', id: id(), event: { part: 2, sound: null }, bytesAt }, [new Uint8Array(3)]);
    fakes.worker().say({ type: 'event', id: id(), event: { part: 3 } });
    await first;
    expect(taken()).toEqual([]);
    await reader.next();
    expect(taken()).toEqual([{ type: 'taken', id: id(), bytes: 7 }]);
    await reader.next();
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await reader.next()).toMatchObject({ done: true });
    expect(taken()).toEqual([
      { type: 'taken', id: id(), bytes: 7 },
      { type: 'taken', id: id(), bytes: 3 },
    ]);
  });

  test('rejects with the reason of a failure', async () => {
    const { fakes, run, load, id } = world();
    const told = all(run('hello'));
    load();
    const error = plainError(new AppError('invalid-field', { field: 'voice', expected: 'a voice' }));
    fakes.worker().say({ type: 'failed', id: id(), error });
    expect(await told).toBe('invalid-field');
  });

  test('stops when its client disconnects, and rejects with the reason of the signal', async () => {
    const { fakes, run, load, id, stop, sent } = world();
    const told = all(run('hello'));
    load();
    fakes.worker().say({ type: 'event', id: id(), event: { part: 1 } });
    stop.abort(new Error('gone'));
    expect(sent()).toEqual(['load', 'begin', 'abort']);
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await told).toBe('1/0 Error: gone');
  });

  test('stops when its reader stops', async () => {
    const { fakes, run, load, id, sent } = world();
    const reading = (async () => {
      for await (const _ of run('hello')) break;
    })();
    load();
    fakes.worker().say({ type: 'event', id: id(), event: { part: 1 } });
    await reading;
    expect(sent()).toEqual(['load', 'begin', 'abort']);
  });

  test('stopped before the engine is ready never starts', async () => {
    const { run, load, stop, sent } = world();
    const told = all(run('hello'));
    stop.abort(new Error('gone'));
    load();
    expect(await told).toBe('Error: gone');
    expect(sent()).toEqual(['load']);
  });

  test('with an aborted signal never starts', async () => {
    const { run, load, stop, sent } = world();
    stop.abort(new Error('gone'));
    const told = all(run('hello'));
    load();
    expect(await told).toBe('Error: gone');
    expect(sent()).toEqual(['load']);
  });

  test('fails with its process, and the next one runs in the new process', async () => {
    const { fakes, run, load, id } = world();
    const told = all(run('hello'));
    load();
    fakes.worker().exit();
    expect(await told).toBe('engine-lost');
    const next = all(run('again'));
    load();
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await next).toBe('end');
    expect(fakes.workers.length).toBe(2);
  });

  test('is rejected after two crashes; one with other bytes is not', async () => {
    const { fakes, run, load, id } = world();
    const poison = [Uint8Array.of(1, 2)];
    for (let time = 0; time < 2; time += 1) {
      const told = all(run('hello', poison));
      if (time === 0) load();
      fakes.worker().exit();
      expect(await told).toBe('engine-lost');
      fakes.advance(60_000);
      load();
    }
    expect(await all(run('hello', poison))).toBe('request-ends-engine');
    const other = all(run('hello', [Uint8Array.of(1, 3)]));
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await other).toBe('end');
  });

  test('ignores events of an unknown task', () => {
    const { fakes, engine, load } = world();
    engine.start();
    load();
    fakes.worker().say({ type: 'event', id: 99, event: { part: 1 } });
    fakes.worker().say({ type: 'ended', id: 99 });
    expect(engine.state().type).toBe('ready');
  });
});

test('detached: bytes at any depth come back to their places, and nothing else changes', () => {
  const whole = { a: Uint8Array.of(1), b: [{ c: Uint8Array.of(2, 3) }, 'x', 5, null], bytesAt: [['b']], d: undefined };
  const { value, attachments, ...places } = detached(whole);
  expect(attachments).toEqual([Uint8Array.of(1), Uint8Array.of(2, 3)]);
  expect(value).toEqual({ a: null, b: [{ c: null }, 'x', 5, null], bytesAt: [['b']] });
  expect(attached(JSON.parse(JSON.stringify(value)), places, attachments)).toEqual(whole);
  expect(detached({ plain: [1, 2] })).toEqual({ value: { plain: [1, 2] }, attachments: [] });
});

test('TaskEngine: stop rejects waiting tasks', async () => {
  const { engine, run, load } = world();
  const told = all(run('hello'));
  load();
  await engine.stop();
  expect(await told).toBe('engine-down');
});

describe('TaskEngine: startsOver', () => {
  const engineThat = (startsOver: (signal: string | null, model: string) => string | undefined) => {
    const fakes = fakeWorkers<To, From>();
    const engine = new TaskEngine<{ model: string }, { voices: number }, Task, Event>({
      capability: 'speech',
      entry: 'worker.js',
      options: { model: 'm' },
      spawn: fakes.spawn,
      startTimer: fakes.startTimer,
      startsOver: ({ signal }, { model }) => {
        const next = startsOver(signal, model);
        return next === undefined ? undefined : { model: next };
      },
      loadReason: ({ lastLines }) => lastLines.at(-1) ?? 'nobody said why',
    });
    engine.start();
    return { engine, fakes };
  };

  test('restarts with the new options, and keeps them', () => {
    const { engine, fakes } = engineThat((signal, model) => (signal === 'SIGILL' ? `${model}+` : undefined));
    fakes.worker().exit({ signal: 'SIGILL' });
    fakes.worker().exit({ signal: 'SIGILL' });
    expect(fakes.worker().sent).toEqual([{ type: 'load', options: { model: 'm++' } }]);
    expect(engine.state().type).toBe('starting');
  });

  test('undefined fails the load with the reason of the last lines', async () => {
    const { engine, fakes } = engineThat(() => undefined);
    fakes.worker().say({ type: 'load-failed', reason: null });
    fakes.worker().exit({ code: 1, signal: null, lastLines: ['the file is damaged'] });
    await engine.settled();
    expect(engine.state()).toMatchObject({ type: 'failed', reason: 'the file is damaged' });
  });

  test('a reason of the worker has priority', async () => {
    const { engine, fakes } = engineThat(() => undefined);
    fakes.worker().say({ type: 'load-failed', reason: 'no room' });
    fakes.worker().exit({ code: 1, signal: null, lastLines: ['noise'] });
    await engine.settled();
    expect(engine.state()).toMatchObject({ type: 'failed', reason: 'no room' });
  });
});
