import { expect, test } from 'vitest';
import { samplingFields } from '../../core/sampling-fields.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { bindAll } from '../testing/bind.ts';
import { controlLimits, finishEvent, scriptedText, seeing, startEvent } from '../testing/doubles.ts';
import { listProofs, scriptedOthers } from '../testing/embedding.ts';
import { asking, type Proof, proveFidelity } from '../testing/fidelity-proof.ts';
import { generateEndpoints } from './generate.ts';
import { embeddingsEndpoint } from './routes.ts';

function world() {
  const { text, asked } = scriptedText([startEvent(), { type: 'text-delta', text: 'Hello' }, finishEvent()], {
    state: () => seeing(),
  });
  const endpoints = bindAll(generateEndpoints, {
    text,
    controlLimits: () => ({ ...controlLimits, guidance: true }),
    applyDefaults: (body) => body,
    replacePlaceholders: ({ prompt, ...rest }) => ({ ...rest, prompt: prompt.replace('{{[INPUT]}}', 'User:') }),
    startTimer: () => ({ restart: () => undefined, cancel: () => undefined }),
  });
  return { endpoints, asked };
}

const png = 'iVBORw0KGgo=';
const wav = Buffer.from('RIFF\0\0\0\0WAVEfmt ').toString('base64');
const request = (value: object): object => ({ request: value });

const proofs: Readonly<Record<string, Proof>> = {
  prompt: { send: { prompt: 'Other' }, asks: request({ prompt: 'Other' }) },
  memory: { send: { memory: 'M' }, asks: request({ memory: 'M' }) },
  max_context_length: { send: { max_context_length: 512 }, asks: request({ maxContext: 512 }) },
  max_length: { send: { max_length: 9 }, asks: request({ maxTokens: 9 }) },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1', part: 'K1' } } },
  kcpp_extra_args: {
    beside: { genkey: 'K1' },
    send: { kcpp_extra_args: { keep_text_gen_on_disconnect: true } },
    asks: { requestContext: { survivesDisconnect: true } },
    refuses: [{ kcpp_extra_args: 'all' }],
  },
  stop_sequence: { send: { stop_sequence: ['x'] }, asks: request({ stop: ['x'] }) },
  trim_stop: { send: { trim_stop: false }, asks: request({ trimStop: false }) },
  images: { send: { images: [png] }, asks: request({ media: [{ kind: 'image', base64: png }] }) },
  audio: { send: { audio: [wav] }, asks: request({ media: [{ kind: 'audio', base64: wav }] }) },
  replace_instruct_placeholders: {
    beside: { prompt: '{{[INPUT]}}Hi' },
    send: { replace_instruct_placeholders: false },
    asks: request({ prompt: '{{[INPUT]}}Hi' }),
  },
  render_special: { send: { render_special: true }, asks: request({ renderSpecial: true }) },
  bypass_eos: { send: { bypass_eos: true }, asks: request({ endTokens: 'ignore' }) },
  ban_eos_token: { send: { ban_eos_token: true }, asks: request({ endTokens: 'ban' }) },
  use_default_badwordsids: { send: { use_default_badwordsids: true }, asks: request({ endTokens: 'ban' }) },
  ignore_eos: { send: { ignore_eos: true }, asks: request({ endTokens: 'ban' }) },
  logprobs: { send: { logprobs: true }, asks: request({ logprobs: 10 }) },
  adapter: { send: { adapter: { top_k: 4 } }, asks: request({ sampling: { topK: 4 } }) },
  reasoning_effort: { send: { reasoning_effort: 'low' }, asks: request({ reasoning: { type: 'share', share: 0.25 } }) },
  thinking_budget_tokens: {
    send: { thinking_budget_tokens: 9 },
    asks: request({ reasoning: { type: 'tokens', tokens: 9 } }),
  },
  sampler_order: { send: { sampler_order: [6, 0] }, asks: request({ sampling: { order: ['repetition', 'top-k'] } }) },
  dry_sequence_breakers: {
    send: { dry_sequence_breakers: ['.'] },
    asks: request({ sampling: { dryBreakers: ['.'] } }),
  },
  logit_bias: { send: { logit_bias: { 5: -3 } }, asks: request({ logitBias: [[5, -3]] }) },
  custom_token_bans: { send: { custom_token_bans: '7' }, asks: request({ logitBias: [[7, -100]] }) },
  banned_tokens: { send: { banned_tokens: ['shiver'] }, asks: request({ bannedStrings: ['shiver'] }) },
  banned_strings: { send: { banned_strings: ['shiver'] }, asks: request({ bannedStrings: ['shiver'] }) },
  grammar: { send: { grammar: 'root ::= "a"' }, asks: request({ grammar: { gbnf: 'root ::= "a"' } }) },
  grammar_retain_state: {
    beside: { grammar: 'root ::= "a"' },
    send: { grammar_retain_state: true },
    asks: request({ grammar: { retainState: true }, retainsGrammar: true }),
  },
  negative_prompt: {
    beside: { guidance_scale: 2 },
    send: { negative_prompt: 'bad' },
    asks: request({ guidance: { negativePrompt: 'bad', scale: 2 } }),
  },
  lora: {
    send: { lora: [{ name: 'style', scale: 0.5 }] },
    asks: request({ adapters: [{ adapter: 'style', scale: 0.5 }] }),
    refuses: [{ lora: 1 }, { lora: [{ name: 'style' }] }],
  },
  cache_prompt: { send: { cache_prompt: false }, asks: request({ freshPrompt: true }) },
  guidance_scale: {
    beside: { negative_prompt: 'bad' },
    send: { guidance_scale: 2 },
    asks: request({ guidance: { scale: 2 } }),
  },
};

const tables = fieldTables([...generateEndpoints, embeddingsEndpoint]);
const [generation, , embeddings] = tables;

for (const table of generation ? [generation] : []) {
  for (const path of ['/api/v1/generate', '/api/extra/generate/stream']) {
    proveFidelity({
      table: { ...table, endpoint: path },
      base: { prompt: 'Hi' },
      ask: asking(world, 'POST', path),
      proofs,
      refusal: (reply) => expect(reply).toEqual({ detail: expect.anything() }),
      silent: true,
    });
  }
}

for (const table of embeddings ? [embeddings] : []) {
  proveFidelity({
    table,
    base: { input: 'x' },
    ask: asking(
      () => {
        const services = scriptedOthers();
        const parts = { taskServices: services.taskServices, modelName: () => 'mini' };
        return {
          endpoints: bindAll([embeddingsEndpoint], parts),
          get asked() {
            return services.asked;
          },
        };
      },
      'POST',
      '/api/extra/embeddings',
    ),
    proofs: listProofs(true),
    refusal: (reply) => expect(reply).toEqual({ detail: { msg: expect.any(String), type: 'bad_input' } }),
  });
}

const names = tables.flatMap(({ fields }) => fields.map(({ field }) => field));

test('native fidelity: has every name of every sampler', () => {
  for (const { wire } of Object.values(samplingFields)) for (const name of wire) expect(names).toContain(name);
});

/** What clients of this API send, besides the samplers. */
const clientFields = [
  ['prompt', 'memory', 'max_context_length', 'max_length', 'genkey', 'stop_sequence', 'trim_stop', 'quiet'],
  ['images', 'audio', 'replace_instruct_placeholders', 'render_special', 'bypass_eos', 'ban_eos_token'],
  ['use_default_badwordsids', 'logprobs', 'adapter', 'reasoning_effort', 'thinking_budget_tokens', 'sampler_order'],
  ['dry_sequence_breakers', 'logit_bias', 'custom_token_bans', 'banned_tokens', 'banned_strings', 'grammar'],
  ['grammar_retain_state', 'negative_prompt', 'guidance_scale'],
].flat();

test.each(clientFields)('native fidelity: has %s', (field) => expect(names).toContain(field));
