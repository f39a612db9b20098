import { expect, test } from 'vitest';
import { chatAdapter } from './adapters/adapter.ts';
import { replacePlaceholders } from './placeholders.ts';

const plain = {
  systemStart: '<S>',
  systemEnd: '</S>',
  userStart: '<U>',
  userEnd: '</U>',
  assistantStart: '<A>',
  assistantEnd: '</A>',
};
const { tags } = chatAdapter(plain);
const withGen = chatAdapter({ ...plain, assistantStart: '<A>\n', assistantGen: '<A!>' }).tags;

function replace(prompt: string, options: { memory?: string; stop?: string[] } = {}, with_ = tags) {
  return replacePlaceholders({ prompt, memory: options.memory ?? '', stop: options.stop ?? [] }, with_);
}

test('replacePlaceholders: each placeholder becomes its tag if end placeholders are used', () => {
  const { prompt, memory } = replace('{{[INPUT]}}hi{{[INPUT_END]}}{{[OUTPUT]}}yo{{[OUTPUT_END]}}', {
    memory: '{{[SYSTEM]}}be kind{{[SYSTEM_END]}}',
  });
  expect(prompt).toBe('<U>hi</U><A>yo</A>');
  expect(memory).toBe('<S>be kind</S>');
});

test('replacePlaceholders: without end placeholders the start of a turn ends the previous one', () => {
  expect(replace('{{[INPUT]}}hi{{[OUTPUT]}}yo{{[INPUT]}}more{{[OUTPUT]}}').prompt).toBe(
    '<U>hi</U><A>yo</A><U>more</U><A>',
  );
});

test('replacePlaceholders: the first turn may be in the memory', () => {
  const { prompt, memory } = replace('{{[INPUT]}}more{{[OUTPUT]}}', { memory: '{{[INPUT]}}hi{{[OUTPUT]}}yo' });
  expect(memory).toBe('<U>hi</U><A>yo');
  expect(prompt).toBe('</A><U>more</U><A>');
});

test('replacePlaceholders: removes {{[SYSTEM_END]}} without other end placeholders', () => {
  expect(replace('{{[SYSTEM]}}x{{[SYSTEM_END]}}y').prompt).toBe('<S>xy');
});

test('replacePlaceholders: opens the last turn with assistantGen', () => {
  expect(replace('{{[INPUT]}}a{{[INPUT_END]}}{{[OUTPUT]}}b{{[OUTPUT_END]}}{{[OUTPUT]}}', {}, withGen).prompt).toBe(
    '<U>a</U><A>\nb</A><A!>',
  );
});

test('replacePlaceholders: opens the last turn in the memory with assistantGen', () => {
  expect(replace('go', { memory: '{{[OUTPUT]}}' }, withGen)).toMatchObject({ prompt: 'go', memory: '<A!>' });
});

test('replacePlaceholders: replaces real start tags at the end by assistantGen', () => {
  expect(replace('<U>a</U><A>\n', {}, withGen).prompt).toBe('<U>a</U><A!>');
  expect(replace('<U>a</U><A>', {}, withGen).prompt).toBe('<U>a</U><A!>');
  expect(replace('<A>\nand then', {}, withGen).prompt).toBe('<A>\nand then');
});

test('replacePlaceholders: stop placeholders become trimmed tags, empty ones are removed', () => {
  const stop = ['{{[INPUT]}}', '{{[OUTPUT]}}', '{{[INPUT_END]}}', '{{[OUTPUT_END]}}', 'x{{[INPUT]}}'];
  expect(replace('', { stop }, chatAdapter({ ...plain, userStart: '\n<U>\n', userEnd: '\n' }).tags).stop).toEqual([
    '<U>',
    '<A>',
    '</A>',
    'x{{[INPUT]}}',
  ]);
});

test('replacePlaceholders: inserts tags with special replacement patterns literally', () => {
  expect(replace('{{[INPUT]}}', {}, chatAdapter({ userStart: "$& $1 $'" }).tags).prompt).toBe("$& $1 $'");
});
