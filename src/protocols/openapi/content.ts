const story = { prompt: 'Once upon a time, there was a lighthouse', max_length: 60, temperature: 0.7 };
const question = [{ role: 'user', content: 'Name three colours.' }];
const picture = { prompt: 'a house on a hill', width: 256, height: 256, steps: 8 };

/** Request bodies that can be sent unchanged to try an endpoint. */
export const requestExamples: Readonly<Record<string, object>> = {
  'POST /api/v1/generate': story,
  'POST /api/extra/generate/stream': story,
  'POST /request': { text: story.prompt, max: 40 },
  'POST /api/extra/generate/check': { genkey: 'KCPP0001' },
  'POST /api/extra/last_logprobs': { genkey: 'KCPP0001' },
  'POST /api/extra/abort': { genkey: 'KCPP0001' },
  'POST /api/extra/tokencount': { prompt: 'Hello, world.' },
  'POST /api/extra/detokenize': { ids: [1, 2, 3] },
  'POST /api/extra/json_to_grammar': {
    schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
  'POST /api/extra/embeddings': { input: ['Hello', 'Good morning'] },
  'POST /api/extra/tts': { input: 'Hello, this is the voice of your computer.', response_format: 'wav' },
  'POST /v1/chat/completions': { messages: question, max_tokens: 60, stream: true },
  'POST /v1/chat/completions/input_tokens': { messages: question },
  'POST /v1/completions': { prompt: story.prompt, max_tokens: 60, stream: true },
  'POST /v1/embeddings': { input: ['Hello', 'Good morning'] },
  'POST /audio/speech': { input: 'Hello, this is the voice of your computer.', response_format: 'mp3' },
  'POST /v1/images/generations': { prompt: picture.prompt, size: '256x256', n: 1, steps: picture.steps },
  'POST /v1/responses': { input: 'Name three colours.', max_output_tokens: 60, stream: true },
  'POST /v1/responses/input_tokens': { input: 'Name three colours.' },
  'POST /v1/messages': { model: 'any', messages: question, max_tokens: 60, stream: true },
  'POST /v1/messages/count_tokens': { model: 'any', messages: question },
  'POST /completion': { prompt: story.prompt, n_predict: 60, stream: true },
  'POST /infill': { input_prefix: 'def add(a, b):\n    return ', input_suffix: '\n', n_predict: 20 },
  'POST /tokenize': { content: 'Hello, world.', with_pieces: true },
  'POST /detokenize': { tokens: [1, 2, 3] },
  'POST /apply-template': { messages: question },
  'POST /embedding': { content: ['Hello', 'Good morning'] },
  'POST /v1/rerank': { query: 'What shines at night?', documents: ['A lighthouse.', 'A cup of tea.'] },
  'POST /sdapi/v1/txt2img': picture,
  'POST /sdapi/v1/options': {},
};
