export type LaunchOptions = ReturnType<typeof readLaunchOptions>;

const actions = { '--config': 'config', '--restore': 'restore', '--help': 'help', '-h': 'help' } as const;

/** The arguments of `parley launch`. Throws a sentence for people. Flags that are not its own are those of the server, which checks them. */
export function readLaunchOptions(args: readonly string[], defaultPort: number) {
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  let agent: string | undefined;
  let action: 'start' | (typeof actions)[keyof typeof actions] = 'start';
  const values: Partial<Record<'--model' | '--port' | '--password', string>> = {};
  const serverFlags: string[] = [];
  for (let index = 0; index < own.length; index += 1) {
    const arg = own[index] ?? '';
    const [name = '', inline] = arg.startsWith('--') ? splitOnce(arg) : [arg];
    if (Object.hasOwn(actions, arg)) action = actions[arg as keyof typeof actions];
    else if (index === 0 && !arg.startsWith('-')) agent = arg;
    else if (name === '--model' || name === '-m' || name === '--port' || name === '--password') {
      const value = inline ?? own[++index];
      if (value === undefined || value === '') throw new Error(`${name} needs a value.`);
      values[name === '-m' ? '--model' : name] = value;
    } else serverFlags.push(arg);
  }
  const port = values['--port'] === undefined ? defaultPort : Number(values['--port']);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('--port must be from 1 to 65535.');
  return {
    agent,
    model: values['--model'],
    port,
    hasPort: values['--port'] !== undefined,
    password: values['--password'],
    action,
    serverFlags: serverFlags as readonly string[],
    /** What follows `--`. */
    agentArguments: end < 0 ? [] : args.slice(end + 1),
  };
}

function splitOnce(arg: string): [string, string?] {
  const equals = arg.indexOf('=');
  return equals < 0 ? [arg] : [arg.slice(0, equals), arg.slice(equals + 1)];
}
