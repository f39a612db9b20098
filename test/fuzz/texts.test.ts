import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatAdapter } from '../../src/chat/adapters/adapter.ts';
import { type Message, text } from '../../src/chat/messages.ts';
import { chatPrompt } from '../../src/chat/prompt.ts';
import { compileTemplate } from '../../src/chat/template.ts';
import { inlineLimits } from '../../src/chat/template-limits.ts';
import { chatmlFixtures } from '../../src/chat/testing/fixtures/chatml.ts';
import { googleMicrosoftFixtures } from '../../src/chat/testing/fixtures/google-microsoft.ts';
import { llamaMistralFixtures } from '../../src/chat/testing/fixtures/llama-mistral.ts';
import { moreFixtures } from '../../src/chat/testing/fixtures/more-others.ts';
import { otherFixtures } from '../../src/chat/testing/fixtures/others.ts';
import { cutIntoPieces, halvesOf } from '../../src/chat/testing/fixtures/pieces.ts';
import { inlineTemplate } from '../../src/chat/testing/inline-template.ts';
import { type ToolFormat, toolFormats } from '../../src/chat/tools/formats.ts';
import { SseLimitError, SseParser } from '../../src/core/sse-parser.ts';
import { ReplyStream, StreamError } from '../../src/engines/remote/reply-stream.ts';
import { schemaToGrammar } from '../../src/grammar/convert.ts';
import { GrammarError } from '../../src/grammar/schema.ts';
import { compileGbnf } from '../../src/grammar/testing/recognise.ts';
import { compilePattern, PatternSearch } from '../../src/patterns/search.ts';
import { timeout, tryAll } from './try-all.ts';
import { type Json, strange } from './values.ts';

const realTemplates = [
  ...chatmlFixtures,
  ...llamaMistralFixtures,
  ...googleMicrosoftFixtures,
  ...otherFixtures,
  ...moreFixtures,
].map(({ template }) => template);

const jinja = [
  ...['{{', '}}', '{%', '%}', '{#', '#}', '-%}', '{%- endif %}', '{% endfor %}', '{% else %}', '{{ x }}', "'", '"'],
  ...['{% for m in messages %}', "{% if m.role == 'user' %}", '{{ m.content }}', '{{ messages[0] }}', '| tojson'],
  ...['| length', '{% set x = messages %}', '{% macro f(a) %}', 'range(1e9)', 'loop.last', '\u0000', '🙂', '\n'],
] as const;

/** A real template with pieces removed, doubled, put in or exchanged. */
const spoiltTemplate = fc
  .tuple(
    fc.constantFrom(...realTemplates),
    fc.array(
      fc.record({
        place: fc.double({ min: 0, max: 0.9999, noNaN: true }),
        length: fc.nat({ max: 40 }),
        kind: fc.constantFrom('remove', 'double', 'insert'),
        piece: fc.constantFrom(...jinja),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([template, changes]) =>
    changes.reduce((source, { place, length, kind, piece }) => {
      const at = Math.floor(place * source.length);
      if (kind === 'remove') return source.slice(0, at) + source.slice(at + length);
      return source.slice(0, at) + (kind === 'insert' ? piece : source.slice(at, at + length)) + source.slice(at);
    }, template),
  );

const deltas = fc.oneof(
  fc.constantFrom('Hi', '', '{{ x }}', '<|im_end|>', '{% raw %}', '\u0000', '\ud800'),
  fc.string({ maxLength: 20 }),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  deltas.map((one): Message => ({ role: 'user', content: text(one) })),
  deltas.map((one): Message => ({ role: 'assistant', content: text(one) })),
  deltas.map((one): Message => ({ role: 'system', content: text(one) })),
  fc
    .constantFrom('{"a":1}', '{', '', '[]')
    .map((json): Message => ({ role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 'f', json }] })),
  deltas.map((one): Message => ({ role: 'tool', content: text(one), callId: 'c' })),
);

test('templates: spoilt ones are refused or rendered, and no user turn and no tool result is lost', {
  timeout,
}, async () => {
  const { tags } = chatAdapter({ userStart: '<U>', assistantStart: '<A>' });
  await tryAll(
    'templates',
    fc.tuple(spoiltTemplate, fc.array(message, { maxLength: 5 })),
    async ([source, earlier]) => {
      let time = 0;
      const limits = { ...inlineLimits, steps: 20_000, characters: 100_000, items: 1000 };
      const compiled = await compileTemplate(source, { limits, clock: () => ++time }).catch((error: unknown) => error);
      if (compiled instanceof Error) return expect(compiled.message).not.toBe('');
      const messages: readonly Message[] = [
        ...earlier,
        { role: 'user', content: text('quagga5') },
        { role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 'f', json: '{"a":1}' }] },
        { role: 'tool', content: text('zebra7'), callId: 'c' },
      ];
      const { prompt, warnings } = await chatPrompt(
        { messages, media: [], tools: [{ name: 'f', parameters: {} }] },
        {
          ...{
            tags,
            template: inlineTemplate(compiled as never),
            templateUse: { chats: true, tools: true, listedTools: true },
            continueAssistantTurn: true,
          },
          stop: [],
          serverVariables: {},
          requestVariables: {},
          reasoningEffort: undefined,
          now: new Date(0),
        },
      );
      expect(prompt).toContain('quagga5');
      expect(prompt).toContain('zebra7');
      for (const one of warnings) expect(one).toMatch(/^[A-Z]/);
    },
  );
});

const marks = [
  ...['<tool_call>', '</tool_call>', '<|tool_call|>', '<|START_ACTION|>', '<|END_ACTION|>', '[TOOL_CALLS]', '[ARGS]'],
  ...[
    '<｜tool▁calls▁begin｜>',
    '<｜tool▁call▁begin｜>',
    '<｜tool▁sep｜>',
    '<｜tool▁call▁end｜>',
    '<｜tool▁calls▁end｜>',
  ],
  ...['<|tool_calls_section_begin|>', '<|tool_call_begin|>', 'functions.look:0', '<|tool_call_argument_begin|>'],
  ...[
    '<|tool_call_end|>',
    '<|channel|>',
    'commentary to=functions.look ',
    '<|constrain|>json',
    '<|message|>',
    '<|call|>',
  ],
  ...['<|start|>assistant', '<function=look>', '</function>', '<parameter=at>', '</parameter>', '<minimax:tool_call>'],
  ...[
    '<invoke name="look">',
    '<parameter name="at">',
    '</invoke>',
    '<arg_key>at</arg_key>',
    '<arg_value>',
    '</arg_value>',
  ],
  ...['<|tool_call>', 'call:look{at:', '<|"|>', '}<tool_call|>', '<|python_tag|>', '```json\n', '```'],
];
const fragments = [
  ...[
    '{"name": "look", "arguments": {"at": "sky"}}',
    '{"name":',
    '"look"',
    ', "parameters": ',
    '{"at": "s\\"ky"}',
    '{}',
  ],
  ...['[', ']', '{', '}', '"', '\\', '\n', ' ', 'null', '1e999', 'look', 'wait', 'Hm. ', '🙂', '\ud83d', '\u0000'],
];
/** Marks of several formats meet, whole and in halves. */
const reply = fc
  .array(fc.constantFrom(...marks, ...halvesOf(...marks), ...fragments, ...fragments), { maxLength: 14 })
  .map((words) => words.join(''));

function called(format: ToolFormat, pieces: readonly string[], cut: boolean): object {
  const calls: { name: string; json: string; ended: boolean }[] = [];
  let rest = '';
  let number = 0;
  const tools = [
    { name: 'look', parameters: { properties: { at: { type: 'string' }, times: { type: 'integer' } } } },
    { name: 'wait', parameters: {} },
  ];
  const reader = format.create({ tools, newId: () => `call_${++number}` });
  for (const event of [...pieces.flatMap((piece) => reader.push(piece)), ...reader.finish(cut)]) {
    if (event.type === 'text-delta') rest += event.text;
    else if (event.type === 'tool-start') calls[event.index] = { name: event.name, json: '', ended: false };
    else {
      const call = calls[event.index];
      if (!call || call.ended) throw new Error('a piece outside of its call');
      if (event.type === 'tool-delta') call.json += event.json;
      else call.ended = true;
    }
  }
  return { rest, calls };
}

test.each(toolFormats.map((format) => [format.name, format] as const))(
  'tool-calls of %s: the result does not depend on the pieces',
  { timeout },
  (name, format) =>
    tryAll(`tool-calls of ${name}`, fc.tuple(cutIntoPieces(reply), fc.boolean()), ([pieces, cut]) => {
      const whole = called(format, [pieces.join('')], cut);
      expect(called(format, pieces, cut)).toEqual(whole);
      expect(called(format, pieces.join('').split(''), cut)).toEqual(whole);
    }),
);

const chunk = fc.oneof(
  fc.constantFrom(
    '{"choices":[{"index":0,"delta":{"content":"Hi"}}]}',
    '{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}',
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}',
    '{"error":{"message":"overloaded","code":503}}',
    '{"choices":null}',
    '[DONE]',
    '{"choices":[{"delta":{"content":"<thi',
  ),
  strange.map((value) =>
    JSON.stringify({ choices: [{ delta: { content: value }, finish_reason: value }], usage: value }),
  ),
  strange.map((value: Json) => JSON.stringify(value) ?? ''),
);
const frame = fc
  .tuple(fc.constantFrom('data: ', 'data:', 'event: x\ndata: ', ': ', 'id: 1\ndata: ', '\ufeffdata: ', ''), chunk)
  .chain(([start, data]) => fc.constantFrom('\n\n', '\r\n\r\n', '\r\r', '\n', '').map((end) => start + data + end));
/** What a backend sends: events, and bytes of any kind. */
const upstream = fc
  .array(fc.oneof({ weight: 6, arbitrary: frame.map((one) => Buffer.from(one)) }, fc.uint8Array({ maxLength: 20 })), {
    maxLength: 8,
  })
  .map((parts) => Buffer.concat(parts));

/** The events of a stream that arrives in these pieces, and how it ended. */
function received(pieces: readonly Uint8Array[]): readonly unknown[] {
  const events: unknown[] = [];
  let ids = 0;
  const stream = new ReplyStream({
    form: 'chat',
    host: 'gpu1',
    maxTokens: 100,
    separate: true,
    parted: true,
    newCallId: () => `made${ids++}`,
    now: () => 0,
  });
  try {
    const parser = new SseParser({ event: (data) => void events.push(...stream.read(data)) });
    const decoder = new TextDecoder();
    for (const piece of pieces) parser.push(decoder.decode(piece, { stream: true }));
    parser.push(decoder.decode());
    parser.end();
    events.push(...stream.finish());
  } catch (error) {
    const known =
      error instanceof StreamError || error instanceof SseLimitError || (error as Error).name === 'AppError';
    if (!known) throw error;
    events.push({ failed: (error as Error).message });
  }
  return events;
}

/** Neighbouring pieces of text together: how they are cut is not the point. */
function merged(events: readonly unknown[]): readonly unknown[] {
  const all: Record<string, unknown>[] = [];
  for (const event of events as Record<string, unknown>[]) {
    const last = all.at(-1);
    if (last && last.type === event.type && typeof last.text === 'string') last.text += String(event.text);
    else all.push({ ...event });
  }
  return all;
}

test('upstream: the events of a stream do not depend on its pieces', { timeout }, () =>
  tryAll('upstream', fc.tuple(upstream, fc.array(fc.nat(), { maxLength: 8 })), ([bytes, cuts]) => {
    const cutPoints = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
    const pieces = cutPoints.slice(1).map((place, index) => bytes.subarray(cutPoints[index], place));
    const whole = merged(received([bytes]));
    expect(merged(received(pieces))).toEqual(whole);
    if (bytes.length > 2000) return;
    expect(merged(received([...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(whole);
  }),
);

const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>({}, true, false, { type: 'string' }, { type: ['integer', 'null'] }, { enum: ['a', 1, null] }),
    fc.constantFrom<Json>({ $ref: '#' }, { $ref: '#/properties/a' }, { $ref: '#/$defs/x' }, { $ref: 'http://x' }),
    fc.constantFrom<Json>(
      { type: 'string', pattern: '^(a|b)*$' },
      { pattern: '(' },
      { format: 'date-time', type: 'string' },
    ),
    fc
      .tuple(
        fc.constantFrom('minLength', 'maxLength', 'minimum', 'maximum', 'multipleOf', 'minItems', 'maxItems'),
        strange,
      )
      .map(([name, value]) => ({
        type: name.includes('Items') ? 'array' : name.includes('Length') ? 'string' : 'integer',
        [name]: value,
      })),
    fc
      .dictionary(fc.constantFrom('a', 'b', '__proto__', '', '"', '🙂'), tie('schema'), { maxKeys: 3 })
      .map((properties) => ({ type: 'object', properties, required: Object.keys(properties) })),
    fc
      .tuple(fc.constantFrom('items', 'additionalProperties', 'not', 'contains', 'if'), tie('schema'))
      .map(([name, one]) => ({ [name]: one })),
    fc
      .tuple(
        fc.constantFrom('anyOf', 'oneOf', 'allOf', 'prefixItems', '$defs'),
        fc.array(tie('schema'), { maxLength: 3 }),
      )
      .map(([name, some]) => ({ [name]: some })),
    fc
      .tuple(fc.constantFrom('type', 'properties', 'required', 'enum', 'const', 'anyOf', '$ref', 'pattern'), strange)
      .map(([name, value]) => ({ [name]: value })),
  ),
}));

test('schemas: any JSON schema becomes a valid grammar or is refused', { timeout }, () =>
  tryAll('schemas', schema, (one) => {
    let grammar: string;
    try {
      grammar = schemaToGrammar(one);
    } catch (error) {
      return expect(error).toBeInstanceOf(GrammarError);
    }
    expect(() => compileGbnf(grammar, () => undefined)).not.toThrow();
  }),
);

const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a', 'b', '.', '\\w', '[ab]', '[^a]', '^', '$', '\\b', 'é', ''),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2,9}', '*?', '{0,}', '{3}'))
      .map(([one, times]) => `(?:${one})${times}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(${one}|${other})`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => one + other),
  ),
}));

/** Threads of a search are bounded by the steps of its program, so that the work for each character is. */
test('patterns: nested repetitions are searched to the end of a long text, or refused', { timeout }, () => {
  const subject = `${'ab'.repeat(500)}c`;
  return tryAll(
    'patterns',
    fc.oneof(
      pattern,
      pattern.map((one) => `(?:(?:${one})*)*c$`),
    ),
    (one) => {
      let search: PatternSearch;
      try {
        search = new PatternSearch(compilePattern(one));
      } catch (error) {
        return expect(String(error)).toMatch(/^Error: the pattern /);
      }
      for (let index = 0; index < subject.length; index += 1) search.push(subject.charCodeAt(index), index);
      search.found(subject.length);
    },
  );
});
