/** A reason not to start, as one sentence. 1: the flags are wrong; 2: a file or a model is missing. */
export interface Problem {
  readonly exitCode: 1 | 2;
  readonly sentence: string;
}

export const badFlags = (sentence: string): Problem => ({ exitCode: 1, sentence });
export const missing = (sentence: string): Problem => ({ exitCode: 2, sentence });

/** Wrong flags come first: the files may well be there once the flags are right. */
export function exitCodeOf(problems: readonly Problem[]): 0 | 1 | 2 {
  if (problems.length === 0) return 0;
  return problems.some((problem) => problem.exitCode === 1) ? 1 : 2;
}
