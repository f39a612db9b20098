/** One line of a Dockerfile. */
export interface Step {
  readonly instruction: string;
  /** `--from` and the like. */
  readonly options: Readonly<Record<string, string>>;
  /** What follows the options. */
  readonly text: string;
}

/** What stands between one FROM and the next. */
export interface Stage {
  readonly name: string;
  /** An image, or the name of an earlier stage. */
  readonly base: string;
  readonly steps: readonly Step[];
}

/** Reads as much of the format as our Dockerfile uses: no ARG, no heredocs, no variables. */
export function readDockerfile(text: string): readonly Stage[] {
  const stages: (Stage & { steps: Step[] })[] = [];
  const lines = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n/g, ' ');
  for (const line of lines.split('\n').filter((each) => each.trim() !== '')) {
    const step = readStep(line);
    if (step.instruction === 'FROM') {
      const [base = '', , name = `stage ${stages.length}`] = step.text.split(/\s+/);
      stages.push({ name, base, steps: [] });
    } else {
      const stage = stages.at(-1);
      if (!stage) throw new Error(`${step.instruction} before the first FROM`);
      stage.steps.push(step);
    }
  }
  return stages;
}

function readStep(line: string): Step {
  const [, instruction = '', flags = '', text = ''] = /^(\w+)\s+((?:--\S+\s+)*)(.*)$/.exec(line.trim()) ?? [];
  const options = Object.fromEntries([...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name, value]) => [name, value]));
  return { instruction, options, text };
}

/** The words of ENTRYPOINT, CMD and HEALTHCHECK, which ours give as JSON. */
export function readWords(text: string): readonly string[] {
  return JSON.parse(text.replace(/^CMD\s+/, '')) as string[];
}

/** Whether a path of the folder is left out of the image, by the text of `.dockerignore`: the last pattern that matches decides. */
export function dockerIgnores(text: string): (path: string) => boolean {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ ignores: !line.startsWith('!'), pattern: globPattern(line.replace(/^!/, '')) }));
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.ignores ?? false;
}

/** A pattern matches what lies below the path too. */
function globPattern(glob: string): RegExp {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'));
  return new RegExp(`^${source}(?:/|$)`);
}
