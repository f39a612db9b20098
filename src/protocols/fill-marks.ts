import type { FillMarks, TextService, TextState } from '../core/text-service.ts';

type Triple = Pick<FillMarks, 'prefix' | 'suffix' | 'middle'>;

/** The marks of several model families, for files that do not name theirs. */
const spellings: readonly Triple[] = [
  { prefix: '<|fim_prefix|>', suffix: '<|fim_suffix|>', middle: '<|fim_middle|>' },
  { prefix: '<fim_prefix>', suffix: '<fim_suffix>', middle: '<fim_middle>' },
  { prefix: '<fim-prefix>', suffix: '<fim-suffix>', middle: '<fim-middle>' },
  { prefix: '<｜fim▁begin｜>', suffix: '<｜fim▁hole｜>', middle: '<｜fim▁end｜>' },
  { prefix: '▁<PRE>', suffix: '▁<SUF>', middle: '▁<MID>' },
  { prefix: '<|code_prefix|>', suffix: '<|code_suffix|>', middle: '<|code_middle|>' },
];
const repositories = ['<|repo_name|>', '<|fim_repo|>', '<repo_name>', '<reponame>', '<fim-repo>'];
const files = ['<|file_sep|>', '<|file_separator|>', '<file_sep>', '<file-sep>'];

const roles = ['prefix', 'suffix', 'middle'] as const;

type MarkSearch =
  | { readonly type: 'found'; readonly marks: FillMarks }
  | { readonly type: 'missing'; readonly sentence: string };

/** The fill-in-the-middle marks that the model file names, or else those in its vocabulary. */
export async function findMarks(text: Pick<TextService, 'state' | 'tokenize'>): Promise<MarkSearch> {
  const named = marksOf(text.state());
  if (named) return { type: 'found', marks: named };
  // This waits for a model that is being loaded.
  const search = await searchVocabulary(text);
  const loaded = marksOf(text.state());
  return loaded ? { type: 'found', marks: loaded } : search;
}

export function gapPrompt({ prefix, suffix, middle }: Triple, before: string, behind: string): string {
  return `${prefix}${before}${suffix}${behind}${middle}`;
}

function marksOf(state: TextState): FillMarks | undefined {
  return state.type === 'ready' ? state.model.fillMarks : undefined;
}

/** A mark is in the vocabulary if it is one token. */
async function searchVocabulary(text: Pick<TextService, 'tokenize'>): Promise<MarkSearch> {
  const all = [...spellings.flatMap((spelling) => roles.map((role) => spelling[role])), ...repositories, ...files];
  const tokens = await Promise.all(all.map((mark) => text.tokenize(mark, { addSpecial: false })));
  const known = new Set(all.filter((_, index) => tokens[index]?.length === 1));
  const complete = spellings.find((spelling) => roles.every((role) => known.has(spelling[role])));
  if (!complete) return { type: 'missing', sentence: missing(known) };
  const repository = repositories.find((mark) => known.has(mark));
  return { type: 'found', marks: { ...complete, repository, file: files.find((mark) => known.has(mark)) } };
}

function missing(known: ReadonlySet<string>): string {
  const named = roles.filter((role) => !spellings.some((spelling) => known.has(spelling[role])));
  const tokens = named.length > 0 ? named.map((role) => `a ${role} token`).join(', ') : 'tokens that belong together';
  return `Infill is not possible with this model: its vocabulary lacks ${tokens}.`;
}
