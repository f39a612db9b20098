export interface ModelEntry {
  readonly id: string;
  /** For people: without the prefix of the native API. Endings stay, as they may be all that tells two models apart. */
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

/** Those that can answer a chat: not those that only make vectors, and no `inactive`. */
export function chatModels(list: readonly ModelEntry[]): ModelEntry[] {
  return list.filter(({ chats, name }) => chats && name !== 'inactive');
}

const embedded = 'parley-mini';

/** One sentence about who answers, and what to expect of it. */
export function introduction(model: string, parameters: number | undefined): string {
  if (model === '') return 'No model is loaded yet, so nobody can answer.';
  if (model === embedded)
    return 'parley-mini answers here, a tiny model of 46 million parameters that runs anywhere: it chats in simple words, knows little of the world and makes things up.';
  if (parameters === undefined) return `${model} answers here, on this computer; what you write stays with it.`;
  const billions = parameters / 1e9;
  const size =
    billions >= 1 ? `${billions.toFixed(billions < 10 ? 1 : 0)} billion` : `${Math.round(parameters / 1e6)} million`;
  const expect =
    billions < 1
      ? 'small and quick; keep questions simple.'
      : billions < 5
        ? 'good for short tasks and talk; check its facts.'
        : 'good for most tasks; check facts that matter.';
  return `${model} answers here, a model of ${size} parameters: ${expect}`;
}
