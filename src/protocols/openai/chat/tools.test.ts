import { expect, test } from 'vitest';
import type { JsonObject } from '../../../http/body.ts';
import { readFields } from '../../fields/table.ts';
import { chatFields } from './fields.ts';
import { decodeToolUse as decode, type ToolUse } from './tools.ts';

const decodeToolUse = (body: JsonObject) => decode(readFields(chatFields, { messages: [{}], ...body }));

const add = { type: 'function', function: { name: 'add', parameters: { type: 'object', properties: { a: {} } } } };
const tell = { type: 'function', function: { name: 'tell', description: 'Tells.', strict: true } };
const addTool = { name: 'add', parameters: { type: 'object', properties: { a: {} } } };
const tellTool = { name: 'tell', description: 'Tells.', parameters: { type: 'object', properties: {} } };
const named = (name: string) => ({ type: 'function', function: { name } });

test.each<[string, object, Partial<ToolUse>]>([
  ['nothing is offered', {}, { tools: [], choice: { type: 'auto' }, parallel: true, legacy: false, skipped: [] }],
  ['tools may be called', { tools: [add, tell] }, { tools: [addTool, tellTool], choice: { type: 'auto' } }],
  ['null is no choice', { tools: [add], tool_choice: null }, { choice: { type: 'auto' } }],
  ['no call', { tools: [add], tool_choice: 'none' }, { choice: { type: 'none' } }],
  ['some call', { tools: [add], tool_choice: 'required' }, { choice: { type: 'required' } }],
  ['this call', { tools: [add], tool_choice: named('add') }, { choice: { type: 'named', name: 'add' } }],
  ['one call at most', { tools: [add], parallel_tool_calls: false }, { parallel: false }],
  [
    'some of the tools',
    {
      tools: [add, tell],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named('tell')] } },
    },
    { tools: [tellTool], choice: { type: 'required' } },
  ],
  [
    'a tool that takes free text',
    { tools: [{ type: 'custom', custom: { name: 'run', format: { type: 'text' } } }] },
    {
      tools: [
        { name: 'run', parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } },
      ],
    },
  ],
  [
    'tools of a provider are left out',
    { tools: [{ type: 'web_search' }, add] },
    { tools: [addTool], skipped: ['tools[0]'] },
  ],
  [
    'functions of old',
    { functions: [add.function], function_call: 'auto', parallel_tool_calls: true },
    { tools: [addTool], choice: { type: 'auto' }, legacy: true, parallel: false },
  ],
  [
    'this function of old',
    { functions: [add.function], function_call: { name: 'add' } },
    { choice: { type: 'named', name: 'add' }, legacy: true },
  ],
  ['no function of old', { functions: [add.function], function_call: 'none' }, { choice: { type: 'none' } }],
])('%s', (_, body, expected) => {
  expect(decodeToolUse(body as Record<string, unknown>)).toMatchObject(expected);
});

test.each<[string, object, string]>([
  ['tools that are no list', { tools: {} }, 'tools must be an array.'],
  ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name must be'],
  [
    'parameters that are no object',
    { tools: [{ function: { name: 'x', parameters: 1 } }] },
    'tools[0].function.parameters',
  ],
  ['an unknown choice', { tools: [add], tool_choice: 'perhaps' }, 'tool_choice must be'],
  ['a tool that was not offered', { tools: [add], tool_choice: named('sub') }, 'tool_choice must be one of the tools'],
  ['a call without tools', { tool_choice: 'required' }, 'tools must be given when a call is required.'],
  [
    'an allowed tool that was not offered',
    { tools: [add], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('sub')] } } },
    'tool_choice.allowed_tools.tools[0] must be one of the tools',
  ],
  [
    'an unknown function of old',
    { functions: [add.function], function_call: { name: 'sub' } },
    'function_call must be',
  ],
])('%s is refused', (_, body, sentence) => {
  expect(() => decodeToolUse(body as Record<string, unknown>)).toThrow(sentence);
});
