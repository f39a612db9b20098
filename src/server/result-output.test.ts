import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { ResultOutput } from './result-output.ts';

/** A stream that accepts this many chunks and then fails with this code. */
function stream(pieces: number, code = '') {
  const written: string[] = [];
  const writable = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      if (written.length < pieces) written.push(text);
      done(written.length <= pieces && (text === '' || written.at(-1) === text) ? null : failure(code));
    },
  });
  return { writable, written };
}

const failure = (code: string) => Object.assign(new Error(`${code}: no`), { code });

async function end(output: ResultOutput) {
  const said: string[] = [];
  return { code: await output.finish((sentence) => said.push(sentence)), said };
}

test('ResultOutput: exit code 0 when all was written', async () => {
  const { writable, written } = stream(9);
  const output = new ResultOutput(writable);
  output.write('a');
  output.write('b');
  expect(await end(output)).toEqual({ code: 0, said: [] });
  expect([written.slice(0, 2), output.closed.aborted]).toEqual([['a', 'b'], false]);
});

test('ResultOutput: a closed pipe ends silently with the code of SIGPIPE', async () => {
  const output = new ResultOutput(stream(1, 'EPIPE').writable);
  output.write('a');
  output.write('b');
  expect(await end(output)).toEqual({ code: 141, said: [] });
  expect(output.closed.aborted).toBe(true);
});

test('ResultOutput: a full disk is reported as a failure', async () => {
  const output = new ResultOutput(stream(1, 'ENOSPC').writable);
  output.write('a');
  output.write('b');
  expect(await end(output)).toEqual({ code: 1, said: ['Standard output cannot be written: ENOSPC: no'] });
});

test('ResultOutput: writes nothing after a failure', async () => {
  const { writable, written } = stream(1, 'EPIPE');
  const output = new ResultOutput(writable);
  output.write('a');
  output.write('b');
  await end(output);
  output.write('c');
  expect(written).toEqual(['a']);
});
