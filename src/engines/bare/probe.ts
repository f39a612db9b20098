// Runs in the Bare runtime, not in Node: loads the driver of an argument and ends. An error ends the process with a message.

declare const Bare: { readonly argv: readonly string[]; exit(code: number): never };

void import(Bare.argv[2] ?? '').then(() => Bare.exit(0));

export {};
