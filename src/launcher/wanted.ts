export interface Start {
  readonly showgui: boolean;
  readonly skiplauncher: boolean;
  /** Whether any flag or environment variable is set. */
  readonly given: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

/** Whether to open the launcher: on request, or when the program is started without settings on a machine with a display. */
export function wantsLauncher({ showgui, skiplauncher, given, environment, platform }: Start): boolean {
  if (skiplauncher) return false;
  if (showgui) return true;
  return !given && hasDisplay(environment, platform) && !environment.CI;
}

/** Whether a browser can be opened. */
export function hasDisplay(environment: Start['environment'], platform: string): boolean {
  const remote = Boolean(environment.SSH_CONNECTION || environment.SSH_TTY);
  if (platform === 'darwin' || platform === 'win32') return !remote;
  return Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY);
}
