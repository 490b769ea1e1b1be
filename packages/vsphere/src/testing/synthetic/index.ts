export { SyntheticInventory, type SyntheticMachine } from './inventory.ts';
export { type Misbehaviour, Misbehaviours } from './misbehaviour.ts';
export { switchPower } from './power.ts';
export { extraConfig, FULL, guest, NUMBER, type Profile, SMALL } from './profile.ts';
export { type ServerObjects, type SyntheticOptions, type SyntheticVCenter, startSyntheticVCenter } from './server.ts';
export { devicesVal, optionsVal, refVal, textVal, type Val } from './values.ts';
