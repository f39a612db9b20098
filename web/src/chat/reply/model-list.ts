export interface ModelEntry {
  readonly id: string;
  /** Display name: without the `koboldcpp/` prefix. Extensions stay, as they may be all that tells two models apart. */
  readonly name: string;
  readonly loaded: boolean;
  readonly parameters: number | undefined;
  readonly chats: boolean;
}

interface WireModel {
  readonly id: string;
  readonly status?: { readonly value?: string };
  readonly capabilities?: readonly string[];
  readonly meta?: { readonly n_params?: number } | null;
}

export function modelEntries(answer: { readonly data?: readonly WireModel[] }): ModelEntry[] {
  return (answer.data ?? []).map(({ id, status, capabilities, meta }) => ({
    id,
    name: modelName(id),
    loaded: status?.value === 'loaded',
    parameters: meta?.n_params,
    chats: !capabilities || capabilities.length === 0 || capabilities.includes('completion'),
  }));
}

export function modelName(id: string): string {
  return id.replace(/^koboldcpp\//, '');
}

/** Models that can chat: no embedding models, no `inactive`. */
export function chatModels(list: readonly ModelEntry[]): ModelEntry[] {
  return list.filter(({ chats, name }) => chats && name !== 'inactive');
}

const embedded = 'parley-mini';

/** One sentence about the model and what to expect of it. */
export function introduction(model: string, parameters: number | undefined): string {
  if (model === '') return 'No model is loaded.';
  if (model === embedded)
    return 'parley-mini is a tiny built-in model with 46 million parameters. It runs anywhere, handles simple chat, knows few facts and makes things up.';
  if (parameters === undefined) return `You are chatting with ${model}.`;
  const billions = parameters / 1e9;
  const size =
    billions >= 1 ? `${billions.toFixed(billions < 10 ? 1 : 0)} billion` : `${Math.round(parameters / 1e6)} million`;
  const expect =
    billions < 1
      ? 'small and fast, for simple questions.'
      : billions < 5
        ? 'good for short tasks and chat. Check its facts.'
        : 'good for most tasks. Check important facts.';
  return `You are chatting with ${model}, a model with ${size} parameters: ${expect}`;
}
