// Package platform knows the objects that a cluster makes or keeps writing to by itself, so that what a backup holds of
// them is no loss and differs for no reason of the user's.
package platform
