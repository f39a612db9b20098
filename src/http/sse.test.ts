import { expect, test } from 'vitest';
import { commentFrame, dataFrame, line, messageFrame, namedFrame } from './sse.ts';

test.each([
  ['a data frame', dataFrame('[DONE]'), 'data: [DONE]\n\n'],
  ['a named frame', namedFrame('message_stop', '{}'), 'event: message_stop\ndata: {}\n\n'],
  ['a message frame', messageFrame('{"token": "a"}'), 'event: message\ndata: {"token": "a"}\n\n'],
  ['a comment frame', commentFrame('keepalive'), ': keepalive\n\n'],
  ['a line', line({ done: true, text: 'a\nb' }), '{"done":true,"text":"a\\nb"}\n'],
])('SSE frame: %s', (_name, frame, bytes) => expect(frame).toBe(bytes));

test('commentFrame: is padded to a given length', () => {
  expect(commentFrame('keepalive', 2048)).toHaveLength(2048);
});
