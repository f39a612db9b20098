import { type HubModel, type HubSearch, hubOrders, type Recommendations } from '../core/models-view.ts';
import { byteSize, tableLines } from '../core/readable.ts';
import { isPublicAddress } from '../http/address.ts';
import type { Hub } from '../library/hub/access.ts';
import { searchHub } from '../library/hub/search.ts';
import { printable } from '../observe/printable.ts';
import type { Terminal } from '../observe/terminal.ts';

export interface SearchCommand {
  readonly words: readonly string[];
  readonly hub: Hub;
  readonly terminal: Terminal;
  readonly fetch: typeof fetch;
  readonly recommended: () => Promise<Recommendations>;
  readonly signal?: AbortSignal;
}

const usage = `parley search [WORDS] [--sort downloads|likes|date] [--count N] [--json]
Lists models on the hub with GGUF files; without words, those that are recommended for this computer.
Download one of them with: parley pull OWNER/NAME`;
const defaultCount = 20;
const maxCount = 100;

/** `parley search`: resolves to the exit code. */
export async function searchCommand(command: SearchCommand): Promise<number> {
  const { hub, terminal, fetch, signal } = command;
  const options = readOptions(command.words);
  if (!options) {
    terminal.line(usage);
    return 2;
  }
  const { count, order, json } = options;
  if (options.words === '') {
    const recommended = await command.recommended();
    if (json) terminal.line(JSON.stringify(recommended.models, undefined, 2));
    else for (const line of recommendedLines(recommended)) terminal.line(line);
    return 0;
  }
  const models: HubModel[] = [];
  try {
    const parts = { hub, fetch, allowsAddress: isPublicAddress, ...(signal && { signal }) };
    for (let cursor: string | undefined; models.length < count; ) {
      const page = await searchHub({ words: options.words, order, count: count - models.length, cursor }, parts);
      models.push(...page.models);
      cursor = page.next;
      if (cursor === undefined) break;
    }
  } catch (error) {
    terminal.line(`The hub could not be searched: ${(error as Error).message}.`);
    return 3;
  }
  if (json) terminal.line(JSON.stringify(models.slice(0, count), undefined, 2));
  else for (const line of searchLines(models.slice(0, count))) terminal.line(line);
  return 0;
}

/** Undefined if the words are not understood. */
function readOptions(words: readonly string[]) {
  const sought: string[] = [];
  let order: HubSearch['order'] = 'downloads';
  let count = defaultCount;
  let json = false;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const value = words[index + 1] ?? '';
    if (word === '--json') json = true;
    else if (word === '--sort' && hubOrders.some((one) => one === value)) {
      order = value as typeof order;
      index += 1;
    } else if (word === '--count' && /^[1-9]\d{0,2}$/.test(value)) {
      count = Math.min(Number(value), maxCount);
      index += 1;
    } else if (word.startsWith('-')) return undefined;
    else sought.push(word);
  }
  return { words: sought.join(' '), order, count, json };
}

function recommendedLines({ date, memoryBytes, models }: Recommendations): readonly string[] {
  const rows = models.map(({ purpose, name, model, search, pack, bytes, licence, why }) => [
    purpose,
    name,
    bytes === null ? '' : byteSize(bytes),
    model ? `parley pull ${model}` : search ? `parley search ${search}` : `parley pack add ${pack}`,
    `${why} ${licence}.`,
  ]);
  const first = `Recommended for this computer with ${byteSize(memoryBytes)} of memory (state: ${date}):`;
  return [first, '', ...tableLines(rows), '', 'Find others with: parley search WORDS'];
}

export function searchLines(models: readonly HubModel[]): readonly string[] {
  if (models.length === 0) return ['The hub has no models with GGUF files for these words. Try fewer or other words.'];
  const rows = models.map((model) => [
    model.id,
    amount(model.parameters),
    printable(model.architecture ?? ''),
    model.context === null ? '' : `${Math.round(model.context / 1024)}k context`,
    `${amount(model.downloads) || '0'} downloads`,
    [
      ...(model.supported === false ? ['cannot be loaded'] : []),
      ...(model.projector ? ['pictures or sound'] : []),
      ...(model.tools ? ['tools'] : []),
      ...(model.thinking ? ['thinking'] : []),
      ...(model.gated === 'no' ? [] : ['needs consent']),
      ...(model.licence ? [printable(model.licence)] : []),
    ].join(', '),
  ]);
  return [...tableLines(rows), '', `Download one with: parley pull ${models[0]?.id}`];
}

/** 8.2B, 350M, 12k. */
function amount(count: number | null): string {
  if (count === null) return '';
  const [divisor, unit] = count >= 1e9 ? [1e9, 'B'] : count >= 1e6 ? [1e6, 'M'] : count >= 1e3 ? [1e3, 'k'] : [1, ''];
  const scaled = count / divisor;
  return `${scaled < 10 && unit !== '' ? scaled.toFixed(1).replace(/\.0$/, '') : Math.round(scaled)}${unit}`;
}
