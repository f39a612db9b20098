import { type HubModel, hubOrders, type Recommendations } from '../core/models-view.ts';
import { byteSize, tableLines } from '../core/readable.ts';
import { searchHub } from '../library/hub/search.ts';
import { printable } from '../observe/printable.ts';
import { type Command, CommandError, command, flag, hubDeps, print, printJson, text } from './command.ts';

interface SearchCommand extends Pick<Command, 'args' | 'hub' | 'terminal' | 'fetch' | 'signal'> {
  readonly recommended: () => Promise<Recommendations>;
}

const usage = `parley search [WORDS] [--sort downloads|likes|date] [--count N] [--json]
Lists models on the hub with GGUF files; without words, those that are recommended for this computer.
Download one of them with: parley pull OWNER/NAME`;
const maxCount = 100;

/** `parley search` */
export const searchCommand = command(
  { usage, options: { sort: text, count: text, json: flag } },
  async ({ values, positionals }, context: SearchCommand) => {
    const { terminal } = context;
    const { sort = 'downloads', count: number = '20', json } = values;
    const order = hubOrders.find((one) => one === sort);
    if (!order || !/^[1-9]\d{0,2}$/.test(number)) return undefined;
    const words = positionals.join(' ');
    if (words === '') {
      const recommended = await context.recommended();
      return json ? printJson(terminal, recommended.models) : print(terminal, recommendedLines(recommended));
    }
    const count = Math.min(Number(number), maxCount);
    const models = await hubModels({ words, order, count }, context).catch((error: Error) => {
      throw new CommandError(`The hub could not be searched: ${error.message}.`, 3);
    });
    return json ? printJson(terminal, models) : print(terminal, searchLines(models));
  },
);

/** Of as many pages as that takes. */
async function hubModels(
  { count, ...search }: Parameters<typeof searchHub>[0],
  context: SearchCommand,
): Promise<readonly HubModel[]> {
  const models: HubModel[] = [];
  let cursor: string | undefined;
  do {
    const page = await searchHub({ ...search, count: count - models.length, cursor }, hubDeps(context));
    models.push(...page.models);
    cursor = page.next;
  } while (cursor !== undefined && models.length < count);
  return models.slice(0, count);
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

function searchLines(models: readonly HubModel[]): readonly string[] {
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
