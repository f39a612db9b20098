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

test('with end placeholders each placeholder is its tag', () => {
  const { prompt, memory } = replace('{{[INPUT]}}hi{{[INPUT_END]}}{{[OUTPUT]}}yo{{[OUTPUT_END]}}', {
    memory: '{{[SYSTEM]}}be kind{{[SYSTEM_END]}}',
  });
  expect(prompt).toBe('<U>hi</U><A>yo</A>');
  expect(memory).toBe('<S>be kind</S>');
});

test('without end placeholders the start of a turn ends the one before', () => {
  expect(replace('{{[INPUT]}}hi{{[OUTPUT]}}yo{{[INPUT]}}more{{[OUTPUT]}}').prompt).toBe(
    '<U>hi</U><A>yo</A><U>more</U><A>',
  );
});

test('the first turn is looked for in the memory before the prompt', () => {
  const { prompt, memory } = replace('{{[INPUT]}}more{{[OUTPUT]}}', { memory: '{{[INPUT]}}hi{{[OUTPUT]}}yo' });
  expect(memory).toBe('<U>hi</U><A>yo');
  expect(prompt).toBe('</A><U>more</U><A>');
});

test('an end placeholder of the system turn vanishes when no other end is spoken of', () => {
  expect(replace('{{[SYSTEM]}}x{{[SYSTEM_END]}}y').prompt).toBe('<S>xy');
});

test('the last open turn is opened in the way of its own that the format has', () => {
  expect(replace('{{[INPUT]}}a{{[INPUT_END]}}{{[OUTPUT]}}b{{[OUTPUT_END]}}{{[OUTPUT]}}', {}, withGen).prompt).toBe(
    '<U>a</U><A>\nb</A><A!>',
  );
});

test('the last open turn may stand in the memory', () => {
  expect(replace('go', { memory: '{{[OUTPUT]}}' }, withGen)).toMatchObject({ prompt: 'go', memory: '<A!>' });
});

test('a prompt that was written with real tags gets that opening too', () => {
  expect(replace('<U>a</U><A>\n', {}, withGen).prompt).toBe('<U>a</U><A!>');
  expect(replace('<U>a</U><A>', {}, withGen).prompt).toBe('<U>a</U><A!>');
  expect(replace('<A>\nand then', {}, withGen).prompt).toBe('<A>\nand then');
});

test('a stop text that is a placeholder becomes its tag without white space, and nothing when the tag is empty', () => {
  const stop = ['{{[INPUT]}}', '{{[OUTPUT]}}', '{{[INPUT_END]}}', '{{[OUTPUT_END]}}', 'x{{[INPUT]}}'];
  expect(replace('', { stop }, chatAdapter({ ...plain, userStart: '\n<U>\n', userEnd: '\n' }).tags).stop).toEqual([
    '<U>',
    '<A>',
    '</A>',
    'x{{[INPUT]}}',
  ]);
});

test('a tag that looks like a pattern is put in as it stands', () => {
  expect(replace('{{[INPUT]}}', {}, chatAdapter({ userStart: "$& $1 $'" }).tags).prompt).toBe("$& $1 $'");
});
