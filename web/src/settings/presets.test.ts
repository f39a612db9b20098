import { describe, expect, test } from 'vitest';
import { differs, fileOfPresets, freeName, type Preset, presetsOf } from './presets.ts';
import { defaultPromptValues, defaultSamplerValues, type SamplerValues } from './values.ts';

const presetOf = (json: unknown, name: string) => presetsOf(json, name)[0];

const own: Preset = {
  id: 'a',
  name: 'Night',
  changedAt: 1,
  samplers: {
    ...defaultSamplerValues,
    sampling: { temperature: 1.2 },
    samplerOrder: [5, 6, 0, 1, 2, 3, 4],
    logitBias: [{ token: '#7', bias: -3 }],
    endToken: 'ban',
  },
  prompt: { ...defaultPromptValues, systemPrompt: 'Be brief.', stopSequences: ['\nYou:'] },
};

describe('files of Parley', () => {
  test('presetsOf: reads what fileOfPresets wrote', () => {
    const [read, ...others] = presetsOf(JSON.parse(JSON.stringify(fileOfPresets([own]))), 'file.json');
    expect(others).toEqual([]);
    expect(read).toMatchObject({ name: 'Night', samplers: own.samplers, prompt: own.prompt });
    expect(read?.id).not.toBe(own.id);
  });

  test('presetsOf: replaces values of the wrong type', () => {
    const samplers = {
      sampling: { temperature: 'hot', top_k: 5 },
      samplerOrder: [6, 6, 9, 'x'],
      endToken: 1,
      grammar: {},
    };
    const file = { format: 'parley.presets', presets: [{ samplers }] };
    expect(presetOf(file, 'mine.parley.json')).toMatchObject({
      name: 'mine',
      samplers: { sampling: { top_k: 5 }, samplerOrder: [0, 1, 3, 4, 2, 5, 6], endToken: 'stop', grammar: '' },
    });
  });
});

describe('SillyTavern', () => {
  const textCompletion = {
    temp: 1.1,
    temperature_last: true,
    top_p: 0.95,
    top_k: 0,
    typical_p: 1,
    tfs: 1,
    epsilon_cutoff: 0,
    eta_cutoff: 3,
    rep_pen: 1.05,
    freq_pen: 0.1,
    num_beams: 1,
    do_sample: true,
    dynatemp: false,
    min_temp: 0,
    max_temp: 2,
    dry_multiplier: 0.8,
    dry_sequence_breakers: '["\\n", ":"]',
    mirostat_mode: 0,
    grammar_string: 'root ::= "a"',
    json_schema: { type: 'object' },
    banned_tokens: 'shiver\n"down the spine"\n[5, 6]',
    ban_eos_token: true,
    sampler_priority: ['temperature'],
    samplers: ['penalties'],
    sampler_order: [6, 5, 0, 1, 3, 4, 2],
    logit_bias: [
      { id: 'x', text: ' night', value: 2 },
      { text: '[9]', value: -1 },
    ],
    genamt: 300,
    max_length: 8192,
  };

  test('presetOf: reads a text-completion preset and names what has no counterpart', () => {
    const preset = presetOf(textCompletion, 'Big O.json');
    expect(preset).toMatchObject({
      name: 'Big O',
      samplers: {
        replyLength: 300,
        sampling: {
          temperature: 1.1,
          top_p: 0.95,
          top_k: 0,
          typical: 1,
          tfs: 1,
          rep_pen: 1.05,
          frequency_penalty: 0.1,
          dry_multiplier: 0.8,
          mirostat: 0,
        },
        samplerOrder: [6, 5, 0, 1, 3, 4, 2],
        dryBreakers: ['\n', ':'],
        grammar: 'root ::= "a"',
        jsonSchema: '{\n  "type": "object"\n}',
        bannedPhrases: ['shiver', 'down the spine'],
        logitBias: [
          { token: ' night', bias: 2 },
          { token: '#9', bias: -1 },
          { token: '#5', bias: -100 },
          { token: '#6', bias: -100 },
        ],
        endToken: 'ban',
      },
      skipped: ['eta_cutoff', 'max_length'],
    });
    expect(preset?.prompt).toBeUndefined();
  });

  test('presetOf: a dynamic temperature from lowest to highest is its middle and range', () => {
    const preset = presetOf({ temp: 1, top_p: 1, top_k: 0, dynatemp: true, min_temp: 0.5, max_temp: 1.5 }, 'x');
    expect(preset?.samplers?.sampling).toMatchObject({ temperature: 1, dynatemp_range: 0.5 });
  });

  test('presetOf: banned phrases that are switched off are named, not used', () => {
    const preset = presetOf({ temp: 1, top_p: 1, top_k: 0, banned_tokens: 'x', send_banned_tokens: false }, 'x');
    expect(preset?.samplers).not.toHaveProperty('bannedPhrases');
    expect(preset?.skipped).toEqual(['banned_tokens']);
  });

  test('presetOf: reads system prompts, instruct templates, chat presets and files with several', () => {
    expect(presetOf({ name: 'Brief', content: 'Be brief.', post_history: 'Really.' }, 'x')).toMatchObject({
      name: 'Brief',
      prompt: { systemPrompt: 'Be brief.' },
      skipped: ['post_history'],
    });
    const instruct = {
      input_sequence: '<u>',
      output_sequence: '<a>',
      stop_sequence: '<end>',
      wrap: true,
      name: 'Tags',
    };
    expect(presetOf(instruct, 'x')).toMatchObject({
      name: 'Tags',
      prompt: { stopSequences: ['<end>'] },
      skipped: ['input_sequence', 'output_sequence'],
    });
    const chat = {
      temperature: 0.9,
      top_p: 1,
      frequency_penalty: 0,
      openai_max_context: 4095,
      openai_max_tokens: 300,
      prompts: [
        { identifier: 'main', name: 'Main', content: 'Write as {{char}}.' },
        { identifier: 'jailbreak', name: 'After', content: 'Go on.' },
      ],
      prompt_order: [{}],
    };
    expect(presetOf(chat, 'chat.json')).toMatchObject({
      name: 'chat',
      samplers: { replyLength: 300, sampling: { temperature: 0.9, top_p: 1, frequency_penalty: 0 } },
      prompt: { systemPrompt: 'Write as {{char}}.' },
      skipped: ['prompts: After'],
    });
    const all = {
      preset: textCompletion,
      sysprompt: { name: 'Brief', content: 'Be brief.' },
      instruct,
      context: { a: 1 },
    };
    expect(presetOf(all, 'all')).toMatchObject({
      name: 'Brief',
      samplers: { replyLength: 300 },
      prompt: { systemPrompt: 'Be brief.', stopSequences: ['<end>'] },
      skipped: ['eta_cutoff', 'max_length', 'input_sequence', 'output_sequence', 'context'],
    });
  });
});

describe('KoboldAI Lite', () => {
  test('presetOf: reads settings', () => {
    const preset = presetOf(
      {
        savedsettings: {
          temperature: 0.75,
          top_p: 0.92,
          typ_s: 1,
          tfs_s: 0.9,
          miro_type: 2,
          miro_tau: 4,
          adaptivep_target: 0.5,
          sampler_order: [6, 0, 1, 3, 4, 2, 5],
          max_length: 240,
          extrastopseq: '\\nYou:||$||END',
          tokenbans: 'sigh||$||gasp',
          logitbiasdict: { 12: -5 },
          instruct_sysprompt: 'Be\\nbrief.',
          chatname: 'Ada',
          chatopponent: 'Bob||$||Eve',
          eos_ban_mode: 3,
          colortheme: 2,
          darkmode: false,
          saved_oai_key: 'secret',
        },
      },
      'saved.json',
    );
    expect(preset).toMatchObject({
      name: 'saved',
      samplers: {
        replyLength: 240,
        sampling: { temperature: 0.75, typical: 1, tfs: 0.9, mirostat: 2, mirostat_tau: 4, adaptive_target: 0.5 },
        samplerOrder: [],
        bannedPhrases: ['sigh', 'gasp'],
        logitBias: [{ token: '#12', bias: -5 }],
        endToken: 'ignore',
      },
      prompt: { systemPrompt: 'Be\nbrief.', stopSequences: ['\nYou:', 'END'], userName: 'Ada', modelName: 'Bob' },
      skipped: ['colortheme', 'saved_oai_key'],
    });
    expect(JSON.stringify(preset)).not.toContain('secret');
  });

  test('presetOf: reads a sampler preset with its name', () => {
    const preset = presetOf({ preset: '[Default]', description: 'x', temp: 0.7, top_k: 10, top_p: 1, typical: 1 }, 'x');
    expect(preset).toMatchObject({ name: 'Default', samplers: { sampling: { temperature: 0.7 } }, skipped: [] });
  });
});

test.each([
  ['a story', { prompt: 'Once', actions: [], savedsettings: { temperature: 1, top_p: 1, top_k: 1 } }],
  ['a character', { spec: 'chara_card_v2', data: { name: 'A' } }],
  ['chats', { format: 'parley.chats', chats: [] }],
  ['a launcher configuration', { model_param: 'x.gguf', contextsize: 4096 }],
  ['a message', { role: 'user', content: 'Hi' }],
  ['a list', [1, 2]],
  ['nothing', null],
])('presetOf: %s is no preset', (_, json) => {
  expect(presetOf(json, 'x.json')).toBeUndefined();
});

test('differs: compares only what the preset has, whatever the order of fields', () => {
  const current: SamplerValues = { ...defaultSamplerValues, sampling: { top_p: 1, temperature: 2 }, grammar: 'x' };
  expect(differs(current, { sampling: { temperature: 2, top_p: 1 } })).toBe(false);
  expect(differs(current, { sampling: { temperature: 2 } })).toBe(true);
  expect(differs(current, { samplerOrder: [1] })).toBe(true);
});

test('freeName: counts up names that exist', () => {
  expect(freeName('A', [])).toBe('A');
  expect(freeName('A', ['A', 'A (2)'])).toBe('A (3)');
  expect(freeName('A (2)', ['A', 'A (2)'])).toBe('A (3)');
});
