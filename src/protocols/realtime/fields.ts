import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import { languageCode } from '../../core/languages.ts';
import * as f from '../fields.ts';
import { readVoiceName, speedRange, spokenNotes } from '../spoken-text.ts';
import { checkToolNames, readFunction } from '../tools.ts';

/** The formats by their names in the beta protocol, as the newer form writes them. */
export const audioFormats = {
  pcm16: { type: 'audio/pcm', rate: 24_000 },
  g711_ulaw: { type: 'audio/pcmu' },
  g711_alaw: { type: 'audio/pcma' },
} as const;
export type AudioFormat = keyof typeof audioFormats;
const formatNames = Object.keys(audioFormats) as [AudioFormat, ...AudioFormat[]];

/** Null has a meaning of its own where it switches something off; left out, nothing changes. */
function nullable<Value>(read: f.Read<Value>): f.Read<Value | null | undefined> {
  return f.described(read.schema ?? {}, (value, path) =>
    value === undefined || value === null ? value : read(value, path),
  );
}

/** `pcm16`, or `{type: "audio/pcm", rate: 24000}` of the newer form. */
const readFormat: f.Read<AudioFormat> = f.described({ type: ['string', 'object'] }, (value, path) => {
  if (!f.isObject(value)) return f.oneOf(...formatNames)(value, path);
  const type = f.readAt(value, 'type', path, f.readText);
  const format = formatNames.find((name) => audioFormats[name].type === type);
  if (!format) throw f.wrong(`${path}.type`, 'one of audio/pcm, audio/pcmu, audio/pcma');
  const rate = f.readAt(value, 'rate', path, f.optionalNumber);
  if (format === 'pcm16' && rate !== undefined && rate !== 24_000) throw f.wrong(`${path}.rate`, '24000');
  return format;
});

const number = (min: number, max: number): f.Read<number | undefined> =>
  f.described(
    { type: 'number', minimum: min, maximum: max },
    f.optional((value, path) => {
      const sent = f.readNumber(value, path);
      if (sent >= min && sent <= max) return sent;
      throw f.wrong(path, `a number from ${min} to ${max}`);
    }),
  );

const defaultTurnDetection = {
  type: 'server_vad' as 'server_vad' | 'semantic_vad',
  threshold: 0.5,
  prefixPaddingMs: 300,
  silenceMs: 500,
  createResponse: true,
  interruptResponse: true,
};

/** When a turn of the user begins and ends. */
export type TurnDetection = Readonly<typeof defaultTurnDetection>;

/** What the pauses of semantic detection become here. */
const eagerSilence: Readonly<Record<string, number>> = { low: 1200, medium: 700, auto: 700, high: 400 };

const readTurnDetection: f.Read<TurnDetection> = f.described({ type: ['object', 'null'] }, (value, path) => {
  const sent = f.readObject(value, path);
  const at = <Value>(name: string, read: f.Read<Value>): Value => f.readAt(sent, name, path, read);
  const type = at('type', f.orElse(f.oneOf('server_vad', 'semantic_vad'), 'server_vad'));
  const eagerness = at('eagerness', f.orElse(f.oneOf('low', 'medium', 'high', 'auto'), 'auto'));
  const silenceMs = type === 'semantic_vad' ? eagerSilence[eagerness] : at('silence_duration_ms', number(0, 60_000));
  return {
    type,
    threshold: at('threshold', number(0, 1)) ?? defaultTurnDetection.threshold,
    prefixPaddingMs: Math.min(at('prefix_padding_ms', number(0, 60_000)) ?? defaultTurnDetection.prefixPaddingMs, 5000),
    silenceMs: Math.max(100, silenceMs ?? defaultTurnDetection.silenceMs),
    createResponse: at('create_response', f.orElse(f.readFlag, true)),
    interruptResponse: at('interrupt_response', f.orElse(f.readFlag, true)),
  };
});

const readTranscription = f.described({ type: ['object', 'null'] }, (value, path) => {
  const sent = f.readObject(value, path);
  const named = f.readAt(sent, 'language', path, f.optionalText);
  const language = named ? languageCode(named) : undefined;
  if (named && !language)
    throw f.wrong(`${path}.language`, 'a language by its code of two letters or its English name');
  return {
    model: f.readAt(sent, 'model', path, f.orElse(f.readText, '')),
    language,
    prompt: f.readAt(sent, 'prompt', path, f.orElse(f.readText, '')),
  };
});

/** Audio comes with its transcript, so that both together mean audio. */
const readModality: f.Read<'audio' | 'text'> = f.described(
  { type: 'array', items: { enum: ['text', 'audio'] } },
  (value, path) => {
    const names = f.listOf(f.oneOf('text', 'audio'))(value, path);
    if (names.length === 0) throw f.wrong(path, '["audio"] or ["text"]');
    return names.includes('audio') ? 'audio' : 'text';
  },
);

const readTool: f.Read<Tool> = (value, path) => {
  const tool = f.readObject(value, path);
  const type = f.readAt(tool, 'type', path, f.orElse(f.readText, 'function'));
  if (type !== 'function') {
    const instead = `tools of the type ${JSON.stringify(type)} are not run here; connect MCP servers with --mcpfile`;
    throw new AppError('unsupported', { feature: path, instead });
  }
  return readFunction(tool, path);
};

const readTools: f.Read<readonly Tool[]> = f.described(f.objectsSchema, (value, path) => {
  const tools = f.listOf(readTool)(value, path);
  checkToolNames(
    tools.map(({ name }) => name),
    path,
  );
  return tools;
});

const readToolChoice: f.Read<ToolChoice> = f.described({ type: ['string', 'object'] }, (value, path) => {
  if (!f.isObject(value)) return { type: f.oneOf('auto', 'none', 'required')(value, path) };
  if (value.type !== 'function') throw f.wrong(path, 'auto, none, required or an object that names a function');
  return { type: 'named', name: f.readAt(value, 'name', path, f.readName) };
});

const readMaxTokens: f.Read<number | 'inf'> = f.described({ type: ['integer', 'string'] }, (value, path) =>
  value === 'inf' ? 'inf' : f.wholeBetween(1, 2 ** 31 - 1)(value, path),
);

const older = (name: string): string => `The name of ${name} in the beta protocol.`;

const inputRows = {
  format: f.honoured(f.optional(readFormat), 'PCM of 16 bits at 24 kHz, G.711 µ-law or A-law; others are refused.'),
  transcription: f.honoured(
    nullable(readTranscription),
    'Whether events tell the transcript. Any model: the recogniser of the server.',
  ),
  turn_detection: f.approximated(
    nullable(readTurnDetection),
    'server_vad: by energy over the noise, silence of at least 100 ms, padding up to 5 s; idle_timeout_ms is ignored. semantic_vad is server_vad with a pause by its eagerness: 1200, 700 or 400 ms. null: the client commits.',
  ),
  noise_reduction: f.ignored('Sound is taken as it comes.'),
};

const outputRows = {
  format: f.honoured(f.optional(readFormat), 'As for the input.'),
  voice: f.approximated(f.optional(readVoiceName), spokenNotes.voice),
  speed: f.honoured(number(speedRange.min, speedRange.max), '0.25 to 4.'),
};

/** What both `session.update` and `response.create` have. */
const sharedRows = {
  instructions: f.honoured(f.optionalText),
  output_modalities: f.honoured(f.optional(readModality), '["audio"] (with its transcript) or ["text"].'),
  modalities: f.honoured(f.optional(readModality), older('output_modalities')),
  tools: f.honoured(f.optional(readTools), 'Functions. Tools of other types are refused.'),
  tool_choice: f.honoured(f.optional(readToolChoice)),
  parallel_tool_calls: f.honoured(f.optionalFlag),
  max_output_tokens: f.honoured(f.optional(readMaxTokens), 'inf: the default length of the server.'),
  max_response_output_tokens: f.honoured(f.optional(readMaxTokens), older('max_output_tokens')),
  temperature: f.honoured(number(0, 2), 'Of the beta protocol; left out, the default of the server.'),
  reasoning: f.group({
    effort: f.honoured(f.optionalText, 'none by default: thinking would delay the voice, and is not spoken.'),
  }),
  voice: f.approximated(f.optional(readVoiceName), older('audio.output.voice')),
  output_audio_format: f.honoured(f.optional(readFormat), older('audio.output.format')),
  prompt: f.refused('Prompts are not stored.', f.unsupported('prompts are not stored here; send instructions')),
};

export const sessionFields = {
  type: f.honoured(f.optional(f.oneOf('realtime', 'transcription')), 'transcription: hears, and never answers.'),
  model: f.approximated(f.optionalText, 'As ?model=: a name that no model has means the default one.'),
  ...sharedRows,
  audio: f.group({ input: f.group(inputRows), output: f.group(outputRows) }),
  speed: f.honoured(number(speedRange.min, speedRange.max), older('audio.output.speed')),
  input_audio_format: f.honoured(f.optional(readFormat), older('audio.input.format')),
  input_audio_transcription: f.honoured(nullable(readTranscription), older('audio.input.transcription')),
  turn_detection: f.approximated(nullable(readTurnDetection), older('audio.input.turn_detection')),
  input_audio_noise_reduction: f.ignored(older('audio.input.noise_reduction')),
  truncation: f.ignored('The oldest turns are left out when the context is full.'),
  include: f.ignored('There are no logprobs.'),
  tracing: f.ignored(),
  ...f.each(['id', 'object', 'expires_at', 'client_secret'], f.ignored('Set by the server.')),
};

export const responseFields = {
  ...sharedRows,
  audio: f.group({ output: f.group({ format: outputRows.format, voice: outputRows.voice }) }),
  conversation: f.honoured(
    f.orElse(f.oneOf('auto', 'none'), 'auto'),
    'none: the answer is not added to the conversation.',
  ),
  input: f.honoured(f.optionalList, 'Items instead of the conversation; item_reference takes one of it.'),
  metadata: f.returnedField(f.optionalObject, 'Comes back in the response.'),
};

/** A transcription session hears, and never answers. */
type SessionType = 'realtime' | 'transcription';

export function initialSettings(model: string, type: SessionType) {
  return {
    type,
    model,
    instructions: '',
    /** Audio comes with its transcript. */
    modality: 'audio' as 'audio' | 'text',
    voice: 'alloy',
    speed: 1,
    inputFormat: 'pcm16' as AudioFormat,
    outputFormat: 'pcm16' as AudioFormat,
    /** Null: speech is transcribed for the model, and no events tell it. */
    transcription:
      type === 'transcription' ? ({ model: '', language: undefined, prompt: '' } as TranscriptionSettings) : null,
    /** Null: the client commits the audio. */
    turnDetection: defaultTurnDetection as TurnDetection | null,
    tools: [] as readonly Tool[],
    toolChoice: { type: 'auto' } as ToolChoice,
    parallelToolCalls: true,
    temperature: undefined as number | undefined,
    maxTokens: 'inf' as number | 'inf',
    effort: undefined as string | undefined,
  };
}

type TranscriptionSettings = ReturnType<typeof readTranscription>;

export type SessionSettings = Readonly<ReturnType<typeof initialSettings>>;

/** What a response is made with; `response.create` may change it for one response. */
export type ResponseSettings = Omit<
  SessionSettings,
  'type' | 'model' | 'inputFormat' | 'transcription' | 'turnDetection'
>;

/** The members that an event sets. */
export type Change<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined };

/** Members that the change does not set stay as they are. */
export function changed<Settings extends ResponseSettings>(settings: Settings, change: Change<Settings>): Settings {
  return { ...settings, ...f.sentMembers(change) };
}
