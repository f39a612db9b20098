import { expect, test } from 'vitest';
import { messagesEndpoints } from './messages/routes.ts';
import { ollamaEndpoints } from './ollama/routes.ts';
import { ollamaContext } from './ollama/testing/context.ts';
import { openaiEndpoints } from './openai/routes.ts';
import { responseState } from './responses/background.ts';
import { responsesEndpoints } from './responses/routes.ts';
import { bindAll } from './testing/bind.ts';
import { finishEvent, startEvent } from './testing/doubles.ts';
import { sdkWorld } from './testing/sdk-world.ts';

const template = `{%- for m in messages -%}{{- '<' + m.role + '>' -}}
{%- if m.thinking and preserve_thinking -%}{{- '<think>' + m.thinking + '</think>' -}}{%- endif -%}
{{- m.content -}}{%- endfor -%}`;
const expected = '<user>Why?<assistant><think>Because.</think>So.<user>Sure?';
const question = { role: 'user', content: 'Why?' };
const second = { role: 'user', content: 'Sure?' };
const chat = (thoughts: object) => [question, { role: 'assistant', content: 'So.', ...thoughts }, second];

test.each([
  ['/v1/chat/completions', { messages: chat({ reasoning_content: 'Because.' }) }],
  ['/v1/chat/completions', { messages: chat({ reasoning: 'Because.' }) }],
  ['/api/chat', { model: 'x', messages: chat({ thinking: 'Because.' }), stream: false }],
  [
    '/v1/messages',
    {
      model: 'x',
      max_tokens: 9,
      messages: chat({
        content: [
          { type: 'thinking', thinking: 'Because.', signature: 's' },
          { type: 'text', text: 'So.' },
        ],
      }),
    },
  ],
  [
    '/v1/responses',
    {
      input: [
        question,
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Because.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] },
        second,
      ],
    },
  ],
])('%s: thinking that is sent back as %j is part of the prompt', async (path, body) => {
  const { base, asked } = await sdkWorld(
    [startEvent(), finishEvent()],
    (parts) => [
      ...bindAll(openaiEndpoints(parts), { ...parts, replacePlaceholders: (texts) => texts }),
      ...bindAll(responsesEndpoints(responseState(), parts), parts),
      ...bindAll(messagesEndpoints(parts), parts),
      ...bindAll(ollamaEndpoints(ollamaContext().parts, parts), { ...ollamaContext().parts, ...parts }),
    ],
    { template },
  );
  const response = await fetch(base + path, { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  expect(asked.map(({ request }) => request.prompt)).toEqual([expected]);
});
