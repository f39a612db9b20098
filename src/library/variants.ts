import { DownloadError } from './download.ts';

/** A file of a repository of models. */
interface RepositoryFile {
  readonly path: string;
  readonly bytes: number;
}

/** One model of a repository in one quantization, with all its parts. */
export interface Variant<File extends RepositoryFile> {
  /** `Q4_K_M`, `UD-Q4_K_XL`, or the name of the file where that says nothing. */
  readonly label: string;
  /** In the order of parts. */
  readonly parts: readonly File[];
  readonly bytes: number;
  /** False if a part is missing. */
  readonly whole: boolean;
}

/** Largest first. */
const quantizations = (
  'F32 BF16 F16 Q8_K_XL Q8_0 Q6_K_XL Q6_K_L Q6_K Q5_K_XL Q5_K_L Q5_K_M Q5_K_S Q5_1 Q5_0 Q4_K_XL Q4_K_L Q4_K_M Q4_K_S IQ4_NL IQ4_XS Q4_1 ' +
  'Q4_0 MXFP4_MOE MXFP4 NVFP4 Q3_K_XL Q3_K_L Q3_K_M Q3_K_S IQ3_M IQ3_S IQ3_XS IQ3_XXS Q2_K_XL Q2_K_L Q2_K_S Q2_K IQ2_M IQ2_S IQ2_XS ' +
  'IQ2_XXS Q2_0 TQ2_0 IQ1_M IQ1_S TQ1_0 Q1_0'
).split(' ');

const longestFirst = [...quantizations].sort((a, b) => b.length - a.length);
/** Whole words, because F16 is in BF16. */
const quantization = new RegExp(`(?<![A-Z0-9])(UD-)?(${longestFirst.join('|')})(?![A-Z0-9_])`, 'g');

/** What a file name says about its quantization. */
export function quantizationInName(path: string): string | undefined {
  return [...path.toUpperCase().matchAll(quantization)].at(-1)?.[0];
}

const splitName = /^(?<stem>.+)-(?<part>\d{5})-of-(?<count>\d{5})\.gguf$/i;
const projectorName = /(^|[-_.])mmproj([-_.]|$)/i;
/** Auxiliary files of models: projectors, draft heads, importance matrices. */
const companionName = /^(mtp|eagle3|dflash|dspark)-|^imatrix|(^|[-_.])(mmproj|imatrix)([-_.]|$)/i;

/** Whether a file only belongs to a model. */
export function isCompanion(path: string): boolean {
  return companionName.test(stemOf(path));
}

function stemOf(path: string): string {
  return nameOf(path).replace(/\.gguf$/i, '');
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function isModel(path: string): boolean {
  return /\.gguf$/i.test(path) && !isCompanion(path) && !/(^|\/)(mtp|imatrix)\//i.test(path);
}

/** The models among the files of a repository, largest quantization first. */
export function variantsOf<File extends RepositoryFile>(files: readonly File[]): readonly Variant<File>[] {
  const groups = new Map<string, File[]>();
  for (const file of files) {
    if (!isModel(file.path)) continue;
    const split = splitName.exec(file.path)?.groups;
    const key = split ? `${split.stem} ${split.count}` : file.path;
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  const variants = [...groups.values()].map((group) => variantOf(group));
  return variants.sort((a, b) => quantizationRank(a.label) - quantizationRank(b.label) || b.bytes - a.bytes);
}

function variantOf<File extends RepositoryFile>(group: readonly File[]): Variant<File> {
  const parts = [...group].sort((a, b) => (a.path < b.path ? -1 : 1));
  const [first] = parts;
  const path = first?.path ?? '';
  const numbers = parts.map((file) => Number(splitName.exec(file.path)?.groups?.part ?? 1));
  const count = Number(splitName.exec(path)?.groups?.count ?? 1);
  return {
    label: quantizationInName(path) ?? stemOf(path),
    parts,
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    whole: numbers.length === count && numbers.every((number, index) => number === index + 1),
  };
}

export function isQuantization(label: string): boolean {
  return quantizationRank(label) < quantizations.length;
}

/** Its place in the order from the largest quantization to the smallest; unknown ones are last. */
export function quantizationRank(label: string): number {
  const index = quantizations.indexOf(label.replace(/^UD-/, ''));
  return index < 0 ? quantizations.length : index;
}

/** The order of preference without a tag: small, and nearly as good as the original. */
const defaultLabels = 'Q4_K_M UD-Q4_K_XL Q4_K_XL MXFP4 MXFP4_MOE Q4_K_S IQ4_XS Q4_0 Q4_1 Q5_K_M Q5_K_S Q6_K Q8_0'.split(
  ' ',
);

/** The variant that a tag names (a quantization or the name of a file, in any case), or the default one without a tag. */
export function chosenVariant<File extends RepositoryFile>(
  variants: readonly Variant<File>[],
  tag: string | undefined,
): Variant<File> | undefined {
  const whole = variants.filter((variant) => variant.whole);
  if (tag === undefined) {
    const byPreference = defaultLabels.flatMap((label) => whole.find((variant) => variant.label === label) ?? []);
    return byPreference[0] ?? whole.at(-1);
  }
  const searched = tag.toUpperCase();
  const named = ({ label, parts: [first] }: Variant<File>) =>
    label === searched || [first?.path, nameOf(first?.path ?? '')].some((path) => path?.toUpperCase() === searched);
  return whole.find(named) ?? whole.find(({ label }) => label === `UD-${searched}`);
}

/** Why no variant can be downloaded. */
export function noVariant(
  id: string,
  tag: string | undefined,
  variants: readonly { readonly label: string }[],
): DownloadError {
  if (variants.length === 0)
    return new DownloadError(`${id} has no model file (.gguf). Look for a repository whose name ends with GGUF`);
  const there = [...new Set(variants.map(({ label }) => label))].join(', ');
  return new DownloadError(
    tag === undefined ? `${id} has no complete model file` : `${id} has no ${tag}; it has ${there}`,
  );
}

/** Best first. F32 is twice as large and no better; BF16 is slow on older GPUs. */
const projectorTypes = ['F16', 'BF16', 'Q8_0', 'F32'];

/** The projector for a variant: beside it, or in a folder above. */
export function projectorFor<File extends RepositoryFile>(
  files: readonly File[],
  { parts: [first] }: Variant<File>,
): File | undefined {
  const folder = folderOf(first?.path ?? '');
  const near = files.filter(
    ({ path }) => /\.gguf$/i.test(path) && projectorName.test(stemOf(path)) && folder.startsWith(folderOf(path)),
  );
  const rank = ({ path }: File) => (projectorTypes.indexOf(quantizationInName(path) ?? '') + 5) % 5;
  return near.sort((a, b) => folderOf(b.path).length - folderOf(a.path).length || rank(a) - rank(b))[0];
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}
