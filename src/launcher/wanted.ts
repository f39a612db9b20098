export interface Start {
  readonly showgui: boolean;
  readonly skiplauncher: boolean;
  /** Whether anything at all was said, on the command line or in the environment. */
  readonly given: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

/**
 * Whether the program begins with the launcher. Somebody who starts it with no word at all at a machine with a display is one who
 * clicked on it, or does not know the flags; everybody else (scripts, services, those who said anything) gets the server at
 * once, as on any machine without a display.
 */
export function wantsLauncher({ showgui, skiplauncher, given, environment, platform }: Start): boolean {
  if (skiplauncher) return false;
  if (showgui) return true;
  return !given && hasDisplay(environment, platform) && !environment.CI;
}

/** Where a browser can be opened. */
export function hasDisplay(environment: Start['environment'], platform: string): boolean {
  const remote = Boolean(environment.SSH_CONNECTION || environment.SSH_TTY);
  if (platform === 'darwin' || platform === 'win32') return !remote;
  return Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY);
}
