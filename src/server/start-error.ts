/** The program cannot start; its message says why. */
export class StartError extends Error {
  constructor(
    message: string,
    /** 2 for wrong flags or missing files, 3 for a model that cannot be loaded. */
    readonly exitCode: 2 | 3,
  ) {
    super(message);
  }
}

/** Runs a check of flags and files; an error becomes a `StartError`. */
export async function checked<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    throw new StartError((error as Error).message, 2);
  }
}

/** Exit code for a model file that cannot be read. */
export function fileExitCode(error: unknown): 2 | 3 {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 2 : 3;
}
