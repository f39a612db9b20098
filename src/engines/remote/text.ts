import type { ChatRequest } from '../../chat/request.ts';
import { asAppError } from '../../core/errors.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { GenerationSink, RunningGeneration, TextEngine, TextModel, TextState } from '../../core/text-service.ts';
import type { Backend } from './backend.ts';
import { generateRemotely, type RemoteParts, type RemoteWork } from './generation.ts';
import { kinds } from './kinds.ts';
import { chatAffinity, textAffinity } from './load-balancing.ts';
import { chatBody, completionBody } from './request-body.ts';
import { RemoteTokens } from './tokens.ts';

export interface RemoteTextParts extends RemoteParts {
  /** Name until the backend reports its own. */
  readonly name: string;
  /** Used if the backend does not report it. */
  readonly usualContext: number;
}

/** Text engine on remote backends. Chats are sent as messages, other requests as prompts. */
export class RemoteText implements TextEngine {
  readonly tokens: RemoteTokens;
  #settled: Promise<void> | undefined;
  /** Last known identity. */
  #seen: Backend | undefined;
  #model: { readonly of: Backend; readonly identity: object | undefined; readonly model: TextModel } | undefined;

  constructor(private readonly parts: RemoteTextParts) {
    this.tokens = new RemoteTokens(parts.pool, parts.model);
  }

  start(): void {
    this.#settled ??= this.parts.pool.start();
  }

  async stop(): Promise<void> {
    if (this.#settled) this.parts.pool.stop();
    this.#settled = undefined;
  }

  settled(): Promise<void> {
    return this.#settled ?? Promise.resolve();
  }

  state(): TextState {
    const { pool, model, name } = this.parts;
    const serving = pool.serving(model);
    const open = serving.find((backend) => backend.isOpen());
    this.#seen = open ?? this.#seen;
    if (open) return { type: 'ready', model: this.#describe(open) };
    const untried = pool.backends.every(({ state }) => state.type === 'unknown');
    return { type: 'loading', name, progress: 0, ...(untried ? {} : { trouble: pool.trouble(model) }) };
  }

  contextSize(): number {
    const seen = this.#seen ?? this.parts.pool.serving(this.parts.model)[0];
    return seen?.model(this.parts.model)?.contextSize ?? this.parts.usualContext;
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    if (request.maxTokens <= 0) {
      const text = request.memory + request.prompt;
      return this.#read(seed, sink, async () => {
        return (request.promptTokens ?? (await this.tokens.tokenize(text, { addSpecial: true }))).length;
      });
    }
    return this.#run(
      {
        form: 'text',
        path: '/v1/completions',
        affinity: textAffinity(request),
        body: (facts) => completionBody(request, facts),
        maxTokens: request.maxTokens,
        separateThinking: false,
        seed,
        seeded: request.sampling.seed > 0,
      },
      sink,
    );
  }

  chat(request: ChatRequest, seed: number, sink: GenerationSink): RunningGeneration {
    if (request.controls.maxTokens <= 0) return this.#read(seed, sink, () => this.tokens.count(request, undefined));
    return this.#run(
      {
        form: 'chat',
        path: '/v1/chat/completions',
        affinity: chatAffinity(request.conversation),
        body: (facts) => chatBody(request, facts),
        maxTokens: request.controls.maxTokens,
        separateThinking: request.reasoning.separate,
        seed,
        seeded: request.controls.sampling.seed > 0,
      },
      sink,
    );
  }

  tokenize: TextEngine['tokenize'] = (text, options) => this.tokens.tokenize(text, options);
  detokenize: TextEngine['detokenize'] = (tokens) => this.tokens.detokenize(tokens);
  pieces: TextEngine['pieces'] = (tokens) => this.tokens.pieces(tokens);

  #run(work: RemoteWork, sink: GenerationSink): RunningGeneration {
    return generateRemotely(work, this.parts, sink);
  }

  /** A request for 0 tokens, which most backends reject: only the length of the prompt is determined. */
  #read(seed: number, sink: GenerationSink, count: () => Promise<number>): RunningGeneration {
    const end = (promptTokens: number): void => {
      sink.event({ type: 'start', promptTokens, cachedTokens: 0, maxTokens: 0, seed });
      sink.event({
        type: 'finish',
        reason: 'length',
        cause: 'limit',
        usage: { promptTokens, cachedTokens: 0, completionTokens: 0 },
        timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
      });
    };
    const fail = (error: unknown): void => {
      const told = asAppError(error);
      // A backend that cannot tokenize is no error here.
      if (told.code === 'unsupported') end(0);
      else sink.event({ type: 'error', error: told });
    };
    void count().then(end, fail);
    return { abort: () => undefined };
  }

  #describe(backend: Backend): TextModel {
    const { identity } = backend;
    if (this.#model?.of === backend && this.#model.identity === identity) return this.#model.model;
    const { pool, model: wanted, usualContext, name } = this.parts;
    const found = backend.model(wanted);
    const contextSize = found?.contextSize ?? usualContext;
    const hosts = pool.serving(wanted).map(({ address }) => address.host);
    const model: TextModel = {
      name: found?.name ?? name,
      path: '',
      contextSize,
      trainedContext: contextSize,
      vocabularySize: 0,
      vocabularyType: 0,
      embeddingLength: 0,
      parameters: 0,
      sizeBytes: 0,
      description: `${kinds[identity?.kind ?? 'openai'].title} at ${hosts.join(', ')}`,
      chatTemplate: undefined,
      specialTokens: { bos: '', eos: '' },
      inputs: identity?.inputs ?? { image: true, audio: true },
    };
    this.#model = { of: backend, identity, model };
    return model;
  }
}
